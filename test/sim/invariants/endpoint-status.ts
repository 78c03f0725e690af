import type { Service } from "../../../src/simulator/service.ts";
import { type Json, objectAt, textAt } from "../api-server/json.ts";

/** The steps of `status.lastChange`, in their order. A change of a spec that needs no request is not sent. */
const STEPS = ["sentTime", "acceptedTime", "syncedTime", "readyTime"];

export function endpointContradictions(endpoint: Json, before: Json | undefined, service: Service): string[] {
  const status = objectAt(endpoint, "status");
  const found: string[] = [];
  const [change, changeBefore] = [status, objectAt(before, "status")].map((one) => objectAt(one, "lastChange"));
  const steps = STEPS.flatMap((step) => textAt(change, step) ?? []);
  const times = steps.map((step) => Date.parse(step));
  if (times.some((time, i) => time < (times[i - 1] ?? 0))) found.push(`lastChange is out of order: ${steps}`);
  if (change?.["generation"] === changeBefore?.["generation"]) {
    const moved = [...STEPS, "observedTime"].filter(
      (step) => (textAt(changeBefore, step) ?? textAt(change, step)) !== textAt(change, step),
    );
    if (moved.length > 0) found.push(`lastChange has another ${moved} for the same generation`);
  }
  const { generation } = objectAt(endpoint, "metadata");
  if (Number(status["appliedGeneration"] ?? 0) > Number(generation)) found.push("a later generation is applied");
  const remote = service.endpoints.all().find(({ id }) => id === textAt(status, "endpointID"));
  if (remote === undefined) return found;
  const fixed = {
    url: remote.url,
    regionID: remote.regionID,
    ownerID: remote.ownerID,
    memberID: remote.memberID,
    createdAt: `${new Date(remote.createdAtMs).toISOString().slice(0, 19)}Z`,
  };
  for (const [field, value] of Object.entries(fixed)) {
    const shown = textAt(status, field) ?? "";
    if (shown !== "" && shown !== value) found.push(`${field} is ${shown}, and ${value} at the service`);
  }
  return found;
}
