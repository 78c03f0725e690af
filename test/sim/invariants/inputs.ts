import type { CoreRequest } from "../../../src/simulator/core.ts";
import { isJson, objectAt, parseJson, textAt } from "../api-server/json.ts";
import type { Storage } from "../api-server/storage.ts";
import type { Bucket } from "../network/bucket.ts";
import { serialIn, uriOf } from "../scenario/manifests.ts";
import type { InputPlan } from "../scenario/objects.ts";
import type { Plan } from "../scenario/plan.ts";
import type { Judge } from "./violation.ts";

/** Judges what a paid request is made from. */
export type Inputs = {
  /** A request took effect at the service. */
  accepted(request: CoreRequest): void;
};

type Facts = { plan: Plan; storage: Storage; bucket: Bucket; judge: Judge; now: () => number };

/** A URL is signed when the request is sent, which can wait for the rate limit of the account. */
const SIGNED_WITHIN_MS = 10 * 60_000;
/** A process notices within this time that a job was deleted: it gives up watches that are silent for 100 s. */
const NOTICED_MS = 150_000;

/** A job that has succeeded: its kind, namespace and name, where its results are, and when it was deleted. */
type Source = { name: string; places: Set<string>; deletedAt?: number };

/**
 * OwnInput: a request of a VideoJob with an input has the URL of the object that its manifest names, signed for this request, or of the
 * result of the job that it names, which has succeeded and exists.
 */
export function createInputs({ plan, storage, bucket, judge, now }: Facts): Inputs {
  const videos = new Map(plan.objects.flatMap((one) => (one.input === undefined ? [] : [[one.serial, one] as const])));
  if (videos.size === 0) return { accepted: () => {} };
  const sources = new Map<string, Source>();
  storage.onEvent((id, { object, type }) => {
    if (!/^(speechjobs|videojobs)\./.test(id)) return;
    const metadata = objectAt(object, "metadata");
    const uid = textAt(metadata, "uid") ?? "";
    const source = sources.get(uid);
    if (source !== undefined && type === "DELETED") source.deletedAt = now();
    const { phase, results } = objectAt(object, "status");
    if (source !== undefined || phase !== "Succeeded" || !Array.isArray(results)) return;
    const places = results
      .filter(isJson)
      .flatMap((result) => [textAt(result, "url"), textAt(objectAt(result, "artifact"), "uri")])
      .filter((place) => place !== undefined);
    const name = [object["kind"], metadata["namespace"], metadata["name"]].join("/");
    sources.set(uid, { name, places: new Set(places) });
  });

  function isOwn(url: string, namespace: string, input: InputPlan): boolean {
    const signed = bucket.signed(url);
    const place = signed === undefined || now() - signed.at > SIGNED_WITHIN_MS ? url : signed.uri;
    if (input.from !== "Job") return place === uriOf(namespace, input.key);
    const name = [input.kind, namespace, input.name].join("/");
    const named = [...sources.values()].filter((source) => source.name === name && source.places.has(place));
    return named.some(({ deletedAt = now() }) => now() - deletedAt < NOTICED_MS);
  }

  return {
    accepted({ body }) {
      const text = JSON.stringify(body ?? null);
      const { input, namespace, serial } = videos.get(serialIn(text) ?? -1) ?? {};
      if (input === undefined || namespace === undefined) return;
      const sent = parseJson(text);
      const url = textAt(sent, "image_url") ?? textAt(objectAt(sent, "input"), "audio_url") ?? "no URL";
      if (isOwn(url, namespace, input)) return;
      judge.violated("OwnInput", `video ${serial} of ${namespace} from ${JSON.stringify(input)} was sent with ${url}`);
    },
  };
}
