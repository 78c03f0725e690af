import { describe, expect, it } from "vitest";
import { keepProblem, specProblem } from "../../../src/api/manifest/spec-problem.ts";
import { speechJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { dropUnreadMetadata, isShortened, shortened } from "../../../src/runtime/shortened.ts";
import { createStore } from "../../../src/runtime/store.ts";
import { manifest } from "../../support/manifests.ts";

const LONG = "a".repeat(1_000_000);
const objectOf = (spec: object, resourceVersion = "1"): KubeObject<object> => ({
  metadata: { name: "one", namespace: "team", uid: "u", resourceVersion },
  spec,
});

describe("an object in memory", () => {
  it.each([
    { what: "a long text", spec: { model: "m", text: LONG }, kept: { model: "m", text: "" } },
    { what: "a long list", spec: { env: Array(300).fill("x".repeat(40)), port: 1 }, kept: { env: [], port: 1 } },
    {
      what: "a long text in an object",
      spec: { video: { prompt: LONG, seed: 1 } },
      kept: { video: { prompt: "", seed: 1 } },
    },
    {
      what: "an object of many short texts",
      spec: { labels: Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`key-${i}`, "value"])) },
      kept: { labels: {} },
    },
  ])("is without $what", ({ spec, kept }) => {
    const whole = objectOf(spec);
    const short = shortened(whole);
    expect(short.spec).toMatchObject(kept);
    expect(JSON.stringify(short).length).toBeLessThan(500);
    expect([isShortened(whole), isShortened(short)]).toEqual([false, true]);
    expect(whole.spec).toBe(spec);
  });

  it.each([undefined, null, LONG])("is itself when its spec is no object", (spec) => {
    const object = { ...objectOf({}), spec: spec as never };
    expect(shortened(object)).toBe(object);
  });

  it("is itself when nothing is long", () => {
    const object = objectOf({ text: "a".repeat(8_000) });
    expect(shortened(object)).toBe(object);
  });

  it("differs when what is left out differs", () => {
    expect(shortened(objectOf({ text: LONG })).spec).not.toEqual(shortened(objectOf({ text: `${LONG}b` })).spec);
    expect(shortened(objectOf({ text: LONG })).spec).toEqual(shortened(objectOf({ text: LONG })).spec);
  });

  it("has the annotations that the operator reads, cut, and no labels", () => {
    const object = objectOf({});
    object.metadata.labels = { big: LONG };
    object.metadata.annotations = {
      "example.com/notes": LONG,
      "mooring.dev/paused": "true",
      "mooring.dev/resubmit-token": LONG,
      "reconcile.fluxcd.io/requestedAt": "now",
    };
    dropUnreadMetadata(object);
    expect(object.metadata.labels).toBeUndefined();
    expect(object.metadata.annotations).toEqual({
      "mooring.dev/paused": "true",
      "mooring.dev/resubmit-token": LONG.slice(0, 16_384),
      "reconcile.fluxcd.io/requestedAt": "now",
    });
  });
});

it("a store keeps the short form of what it reads and of what is written, and the write returns it", () => {
  const store = createStore<KubeObject<object>>({}, undefined, shortened);
  store.upsert(objectOf({ text: LONG }));
  expect(store.get("team/one")?.spec).toMatchObject({ text: "" });
  const kept = store.observeWrite(objectOf({ text: LONG, suspend: true }, "2"));
  expect(kept.spec).toMatchObject({ text: "", suspend: true });
  expect(store.get("team/one")).toBe(kept);
});

it("what the schema says of the whole spec stands for its short form", () => {
  for (const text of [LONG, `${LONG}b`]) {
    const whole = manifest("hd", { text }) as KubeObject<object>;
    const short = shortened(whole);
    keepProblem(speechJobResource, whole, short);
    expect(specProblem(speechJobResource, short.spec ?? {})).toBe(specProblem(speechJobResource, whole.spec ?? {}));
  }
});
