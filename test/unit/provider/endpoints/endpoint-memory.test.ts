import { expect, it } from "vitest";
import { createEndpointReader } from "../../../../src/provider/endpoints/endpoint-memory.ts";
import { fromCurrent, fromEarlier } from "../../../../src/provider/endpoints/endpoint-record.ts";
import { endpointV1 } from "../../../../src/provider/wire/endpoints-v1.ts";
import { endpointV2 } from "../../../../src/provider/wire/endpoints-v2.ts";

const currentReader = () => createEndpointReader(endpointV2, fromCurrent, () => true);

const wire = (change: object = {}) => ({ id: "ep-1", name: "one", worker_config: { max_replicas: "3" }, ...change });

it("the same bytes give the very same record, other bytes another one", () => {
  const reader = currentReader();
  const first = reader.parse(wire());
  expect(first).toMatchObject({ id: "ep-1", name: "one", scaling: { max: 3 } });
  expect(reader.parse(wire())).toBe(first);
  const changed = reader.parse(wire({ name: "two" }));
  expect(changed).not.toBe(first);
  expect(changed.name).toBe("two");
  expect(reader.parse(wire({ name: "two" }))).toBe(changed);
});

it("two endpoints do not get in each other's way", () => {
  const reader = currentReader();
  const one = reader.parse(wire());
  const two = reader.parse(wire({ id: "ep-2" }));
  expect(reader.parse(wire())).toBe(one);
  expect(reader.parse(wire({ id: "ep-2" }))).toBe(two);
});

it.each([[null], [7], [{}], [{ id: "" }]])("%j is no endpoint", (raw) => {
  expect(currentReader().safeParse(raw).success).toBe(false);
});

it("the earlier generation's records are remembered too", () => {
  const reader = createEndpointReader(endpointV1, fromEarlier, () => true);
  const earlier = { id: "ep-1", workerConfig: { maxNum: "3" }, ports: [{ port: "8000" }] };
  const first = reader.parse(earlier);
  expect(first).toMatchObject({ scaling: { max: 3 }, ports: [8000] });
  expect(reader.parse(structuredClone(earlier))).toBe(first);
  expect(reader.parse({ ...earlier, ports: [{ port: "8001" }] }).ports).toEqual([8001]);
});
