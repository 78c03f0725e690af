import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { AuditEntry } from "../../support/world.ts";
import { valueAt } from "./paths.ts";

const named = z.object({ name: z.string(), value: z.string().optional() });
const volume = z.object({
  type: z.string(),
  id: z.string().optional(),
  sizeGB: z.number().optional(),
  mountPath: z.string(),
});

/** What the service must have for a spec, by the path of its own parameters. A field that is absent here is not compared. */
function expectedParameters(spec: Record<string, unknown>): Record<string, unknown> {
  const suspended = spec["suspend"] === true;
  const of = (path: string) => valueAt(spec, path);
  const env = z.array(named).parse(of("env") ?? []);
  const volumes = z.array(volume).parse(of("volumes") ?? []);
  return {
    ...(of("name") === undefined ? {} : { name: of("name") }),
    ...(of("appName") === undefined ? {} : { appName: of("appName") }),
    "image.image": of("image"),
    "image.command": of("command"),
    "image.authId": of("registryAuthID"),
    ports: [{ port: String(of("port")) }],
    "workerConfig.minNum": suspended ? 0 : of("workers.min"),
    "workerConfig.maxNum": suspended ? 0 : of("workers.max"),
    "workerConfig.freeTimeout": of("workers.idleTimeoutSeconds"),
    "workerConfig.maxConcurrent": of("workers.maxConcurrency"),
    "workerConfig.gpuNum": of("workers.gpus"),
    "workerConfig.requestTimeout": of("workers.requestTimeoutSeconds"),
    "policy.type": of("policy.type"),
    "policy.value": of("policy.value"),
    products: of("products"),
    rootfsSize: of("rootfsSizeGB"),
    clusterID: of("clusterID"),
    "healthy.path": of("healthCheck.path"),
    volumeMounts: volumes.map(({ type, id, sizeGB, mountPath }) =>
      type === "network" ? { type, id, mountPath } : { type, size: sizeGB ?? 30, mountPath },
    ),
    ...(env.some(({ value }) => value === undefined)
      ? {}
      : { envs: env.map(({ name, value }) => ({ key: name, value })) }),
  };
}

/** Where the parameters of an endpoint differ from the spec. An empty text or list is as good as an absent one. */
export function parameterMismatches(spec: Record<string, unknown>, parameters: unknown): string[] {
  return Object.entries(expectedParameters(spec)).flatMap(([path, wanted]) => {
    const found = valueAt(parameters, path);
    const equal = isDeepStrictEqual(plain(wanted), plain(found));
    return equal ? [] : [`${path} is ${JSON.stringify(found)} at the service instead of ${JSON.stringify(wanted)}`];
  });
}

function plain(value: unknown): unknown {
  if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0)) return null;
  return JSON.parse(JSON.stringify(value));
}

/** Fields of a job that are not part of its request. */
const NOT_SENT =
  /^(accountRef|activeDeadlineSeconds|backoffLimit|callback|managedBy|model|onSubmissionUnknown|output|outputFormat|reuse|suspend|textFrom|imageToVideo\.imageFrom|videoToVideo\.input\.audioFrom|ttlSecondsAfterFinished)\b/;

/** Without a value, the service takes false. */
const DEFAULT_FALSE = /^(stream|aigcWatermark|voiceSetting\.latexRead)$/;

/** Where the request of a job differs from one field of its spec. */
export function requestMismatch(path: string, spec: object, request: AuditEntry): string[] {
  if (NOT_SENT.test(path)) return [];
  // A stream whose spec says nothing asks for no repeated audio.
  if (path === "streamOptions.excludeAggregatedAudio" && valueAt(spec, path) === undefined) return [];
  const [wanted, found] = [wireOf(valueAt(spec, path)), valueAt(request.body, wirePath(path))];
  const absent = DEFAULT_FALSE.test(path) ? false : null;
  const equal = isDeepStrictEqual(plain(wanted) ?? absent, plain(found) ?? absent);
  return equal
    ? []
    : [`${wirePath(path)} is ${JSON.stringify(found)} in the request instead of ${JSON.stringify(wanted)}`];
}

/** `imageToVideo.imageURL` is `image_url`, `timbreWeights[].voiceID` is `timbre_weights[].voice_id`. */
function wirePath(path: string): string {
  return path
    .replace(/^(imageToVideo|videoToVideo)\./, "")
    .replace(/URLs/g, "Urls")
    .replace(/URL/g, "Url")
    .replace(/ID/g, "Id")
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function wireOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(wireOf);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [wirePath(name), wireOf(one)]));
}
