import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { storedIn } from "../../../src/runtime/list-watch.ts";

/** What somebody writes to pass for the end of the metadata. */
const HOSTILE = '"name":"x","namespace":"y","resourceVersion":"9","uid":"z"},"spec":{';
const texts = fc.oneof(fc.string(), fc.constant(HOSTILE), fc.constant(HOSTILE.replaceAll('"', '\\"')));
const maps = fc.dictionary(fc.oneof(fc.constantFrom("name", "uid", "resourceVersion", "spec"), texts), texts);
const last = fc.record({
  name: fc.stringMatching(/^[a-z][a-z0-9.-]{0,252}$/),
  namespace: fc.stringMatching(/^[a-z][a-z0-9-]{0,62}$/),
  resourceVersion: fc.nat().map(String),
  uid: fc.uuid(),
});

describe("the object of a watch line that is not parsed", () => {
  it("is the one that the line shows, whatever its texts say", () => {
    fc.assert(
      fc.property(maps, maps, last, (annotations, labels, end) => {
        const metadata = { annotations, creationTimestamp: "2026-01-01T00:00:00Z", generation: 1, labels, ...end };
        const spec = { metadata: end, text: HOSTILE };
        const line = JSON.stringify({ type: "MODIFIED", object: { apiVersion: "v1", kind: "Thing", metadata, spec } });
        expect(storedIn(Buffer.from(line))).toEqual(end);
      }),
    );
  });

  it.each([
    ["another type", '{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"1","uid":"u"},"spec":{}}}'],
    ["no spec", '{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"1","uid":"u"}}}'],
    [
      "another order",
      '{"type":"MODIFIED","object":{"metadata":{"uid":"u","name":"a","resourceVersion":"1"},"spec":{}}}',
    ],
    [
      "a version that is no integer",
      '{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"x","uid":"u"},"spec":{}}}',
    ],
  ])("is not known: %s", (_name, line) => {
    expect(storedIn(Buffer.from(line))).toBeUndefined();
  });
});
