import { expect, it } from "vitest";
import type { ClusterSession } from "../../../src/ui/cluster-session.ts";
import { checkedManifest } from "../../../src/ui/manifest.ts";
import { withPrice } from "../../../src/ui/price.ts";
import type { UiObject } from "../../../src/ui/ui-object.ts";
import { manifest } from "../../support/manifests.ts";

const asOf = "2026-03-01T00:00:00Z";
const status = {
  conditions: [],
  prices: [
    { name: "speech-2.6-hd", unit: "ThousandCharacters" as const, price: "0.35", asOf },
    { name: "gpu-4090-24g", unit: "CardHour" as const, price: "3", asOf },
  ],
};

/** A session that knows one account, the default one of the namespace. */
function sessionOf(account: object | undefined): ClusterSession {
  return {
    find: ({ kind, name }: { kind: string; name: string }) =>
      account !== undefined && kind === "Account" && name === "default" ? { object: account as UiObject } : undefined,
  } as unknown as ClusterSession;
}
const account = { metadata: { name: "default" }, spec: { speech: { maxCharacters: 1_000 } }, status };

it.each<{ name: string; object: object; session: ClusterSession; price: object | undefined }>([
  {
    name: "a job",
    object: manifest("hd", { text: "x".repeat(400) }, "one"),
    session: sessionOf(account),
    price: { amount: "0.14", per: "Job" },
  },
  {
    name: "an hour of all workers of an endpoint",
    object: manifest("endpoint", {}, "one"),
    session: sessionOf(account),
    price: { amount: "6", per: "Hour" },
  },
  {
    name: "no job whose text is in a ConfigMap",
    object: manifest("hd", { text: undefined, textFrom: { configMapKeyRef: { name: "a", key: "b" } } }, "one"),
    session: sessionOf(account),
    price: undefined,
  },
  {
    name: "nothing without an account that the user may see",
    object: manifest("hd", {}, "one"),
    session: sessionOf(undefined),
    price: undefined,
  },
  {
    name: "nothing with a problem",
    object: manifest("hd", { text: 5 }, "one"),
    session: sessionOf(account),
    price: undefined,
  },
])("$name has the price that the bills have shown", async ({ object, session, price }) => {
  const view = checkedManifest(JSON.parse(JSON.stringify(object)));
  expect((await withPrice(session, view)).price).toEqual(price);
});
