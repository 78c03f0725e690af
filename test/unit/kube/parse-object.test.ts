import { describe, expect, it } from "vitest";
import { parseObject } from "../../../src/kube/parse-object.ts";

const managedFields = [
  {
    apiVersion: "mooring.dev/v1alpha1",
    fieldsType: "FieldsV1",
    fieldsV1: { "f:status": { "f:conditions": { 'k:{"type":"Ready"}': { ".": {}, "f:reason": {} } } } },
    manager: 'odd }],"name":"',
    operation: "Update",
    time: "2026-01-01T00:00:00Z",
  },
];

describe("an object", () => {
  const metadata = { annotations: { note: ',"managedFields":[{' }, generation: 2 };
  const rest = { name: "e", namespace: "n", resourceVersion: "7", uid: "u" };
  const body = { spec: { managedFields: [{ a: 1 }], name: "x" }, status: { state: "running" } };
  const kind = { apiVersion: "mooring.dev/v1alpha1", kind: "GpuEndpoint" };

  it("is parsed without its managed fields", () => {
    const text = JSON.stringify({ ...kind, metadata: { ...metadata, managedFields, ...rest }, ...body });
    expect(parseObject(Buffer.from(text))).toEqual({ ...kind, metadata: { ...metadata, ...rest }, ...body });
  });

  it("in a watch event is parsed without them", () => {
    const object = { ...kind, metadata: { ...metadata, managedFields, ...rest }, ...body };
    const event = { type: "MODIFIED", object: { ...object, metadata: { ...metadata, ...rest } } };
    expect(parseObject(Buffer.from(JSON.stringify({ type: "MODIFIED", object })))).toEqual(event);
  });

  it("without managed fields keeps a field of its spec with this name", () => {
    const object = { ...kind, metadata: { ...metadata, ...rest }, ...body };
    expect(parseObject(Buffer.from(JSON.stringify(object)))).toEqual(object);
  });

  it.each([
    { form: "of a built-in kind, which has them last", object: { metadata: { name: "s", managedFields } } },
    {
      form: "of a built-in kind whose spec has a list before a name",
      object: { metadata: { name: "d", managedFields }, spec: { ports: [{ port: 1 }], name: "x" } },
    },
    { form: "with an empty list", object: { metadata: { managedFields: [], name: "s" } } },
    { form: "with spaces", object: { metadata: { managedFields, name: "s" } }, indent: 1 },
  ])("$form is parsed as it is", ({ object, indent }) => {
    expect(parseObject(Buffer.from(JSON.stringify(object, undefined, indent)))).toEqual(object);
  });
});
