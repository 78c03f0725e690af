import { createRecordOf, unshownCreateOf } from "../../src/controllers/gpu-endpoint/memory.ts";
import type { AnyObject, World } from "./world.ts";

type Recorded = Parameters<typeof unshownCreateOf>[0];

/** What tells of the requests of an object. */
function recordedOf({ metadata: { uid = "", annotations = {} }, status }: AnyObject): Recorded {
  return { metadata: { uid, annotations }, status: status as Recorded["status"] };
}

/** Whether the object has the record of a request, and shows no outcome of it. */
export function hasOpenRecord(object: AnyObject): boolean {
  const recorded = recordedOf(object);
  return recorded.status?.submission?.state === "Intended" || unshownCreateOf(recorded) !== undefined;
}

/** The process that sent the last create of an endpoint. */
export function senderOf(endpoint: AnyObject): string | undefined {
  return createRecordOf(recordedOf(endpoint))?.sender;
}

/** The objects with a request whose outcome they do not show. */
export async function openRecordsOf(world: World): Promise<AnyObject[]> {
  const lists = await Promise.all(["SpeechJob", "VideoJob", "GpuEndpoint"].map((kind) => world.list(kind)));
  return lists.flat().filter(hasOpenRecord);
}
