import { expect, it } from "vitest";
import { readEndpoint } from "../../../../src/provider/endpoints/endpoint-memory.ts";
import { type EndpointRecord, fromCurrent, fromEarlier } from "../../../../src/provider/endpoints/endpoint-record.ts";
import { UnusableError } from "../../../../src/provider/wire/lenient.ts";

/** Reads a list again and again, as the sweep does. */
function readerOf(recordFrom: (endpoint: unknown) => EndpointRecord) {
  const known = new Map<string, EndpointRecord>();
  return (endpoint: unknown) => {
    const record = readEndpoint(endpoint, recordFrom, (id) => known.get(id));
    known.set(record.id, record);
    return record;
  };
}

const currentReader = () => readerOf(fromCurrent);

const wire = (change: object = {}) => ({ id: "ep-1", name: "one", worker_config: { max_replicas: "3" }, ...change });

it("the same bytes give the very same record, other bytes another one", () => {
  const reader = currentReader();
  const first = reader(wire());
  expect(first).toMatchObject({ id: "ep-1", name: "one", scaling: { max: 3 } });
  expect(reader(wire())).toBe(first);
  const changed = reader(wire({ name: "two" }));
  expect(changed).not.toBe(first);
  expect(changed.name).toBe("two");
  expect(reader(wire({ name: "two" }))).toBe(changed);
});

it("two endpoints do not get in each other's way", () => {
  const reader = currentReader();
  const one = reader(wire());
  const two = reader(wire({ id: "ep-2" }));
  expect(reader(wire())).toBe(one);
  expect(reader(wire({ id: "ep-2" }))).toBe(two);
});

it.each([[null], [7], [{}], [{ id: "" }]])("%j is no endpoint", (raw) => {
  expect(() => currentReader()(raw)).toThrow(UnusableError);
});

it("the earlier generation's records are remembered too", () => {
  const reader = readerOf(fromEarlier);
  const earlier = { id: "ep-1", workerConfig: { maxNum: "3" }, ports: [{ port: "8000" }] };
  const first = reader(earlier);
  expect(first).toMatchObject({ scaling: { max: 3 }, ports: [8000] });
  expect(reader(structuredClone(earlier))).toBe(first);
  expect(reader({ ...earlier, ports: [{ port: "8001" }] }).ports).toEqual([8001]);
});
