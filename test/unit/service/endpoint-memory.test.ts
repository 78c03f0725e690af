import { expect, it } from "vitest";
import { createEndpointReader } from "../../../src/service/endpoint-memory.ts";

const wire = (change: object = {}) => ({ id: "ep-1", name: "one", worker_config: { max_replicas: "3" }, ...change });

it("the same bytes give the very same record, other bytes another one", () => {
  const reader = createEndpointReader();
  const first = reader.parse(wire());
  expect(first).toMatchObject({ id: "ep-1", name: "one", workerConfig: { max: 3 } });
  expect(reader.parse(wire())).toBe(first);
  const changed = reader.parse(wire({ name: "two" }));
  expect(changed).not.toBe(first);
  expect(changed.name).toBe("two");
  expect(reader.parse(wire({ name: "two" }))).toBe(changed);
});

it("two endpoints do not get in each other's way", () => {
  const reader = createEndpointReader();
  const one = reader.parse(wire());
  const two = reader.parse(wire({ id: "ep-2" }));
  expect(reader.parse(wire())).toBe(one);
  expect(reader.parse(wire({ id: "ep-2" }))).toBe(two);
});

it.each([[null], [7], [{}], [{ id: "" }]])("%j is no endpoint", (raw) => {
  expect(createEndpointReader().safeParse(raw).success).toBe(false);
});
