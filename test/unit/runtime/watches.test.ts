import { expect, it } from "vitest";
import type { KubeObject } from "../../../src/kube/types.ts";
import type { Change } from "../../../src/runtime/store.ts";
import { ownerMapper, watch } from "../../../src/runtime/watches.ts";

type Thing = KubeObject<{ refersTo: string[] }>;
const thing = (refersTo: string[]): Thing => ({ metadata: { name: "t", namespace: "team" }, spec: { refersTo } });

function watched() {
  const handlers: ((change: Change<Thing>) => void)[] = [];
  const keys: string[] = [];
  watch<Thing>(
    { onChange: (handler) => void handlers.push(handler) },
    ({ spec }) => spec.refersTo,
    (key) => keys.push(key),
  );
  return { keys, emit: (change: Change<Thing>) => handlers.map((handler) => handler(change)) };
}

it("a change enqueues what the object meant before and what it means now, each once", () => {
  const { keys, emit } = watched();
  emit({ type: "Added", object: thing(["a"]), initial: false });
  emit({ type: "Modified", previous: thing(["a", "b"]), object: thing(["b", "c"]) });
  emit({ type: "Deleted", object: thing(["c"]) });
  expect(keys).toEqual(["a", "a", "b", "c", "c"]);
});

it("an owned object leads to its controller, and to nobody else", () => {
  const owners = [
    { apiVersion: "v1", kind: "GpuEndpoint", name: "mine", uid: "1", controller: true },
    { apiVersion: "v1", kind: "GpuEndpoint", name: "friend", uid: "2" },
    { apiVersion: "v1", kind: "Other", name: "other", uid: "3", controller: true },
  ];
  const object = { metadata: { name: "export", namespace: "team", ownerReferences: owners }, spec: undefined };
  expect([...ownerMapper("GpuEndpoint")(object)]).toEqual(["team/mine"]);
  expect([...ownerMapper("GpuEndpoint")({ metadata: { name: "x" }, spec: undefined })]).toEqual([]);
});
