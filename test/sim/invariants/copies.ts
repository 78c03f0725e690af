import { objectAt, textAt } from "../api-server/json.ts";
import { objectOf } from "../scenario/manifests.ts";
import type { World } from "../scenario/world.ts";

/** Every result of a job that ended well lies in its store as the status says, and no writer stays open. */
export function judgeCopies(world: World): void {
  const { plan, bucket, judge } = world;
  for (const object of plan.objects) {
    const status = objectAt(objectOf(world, object), "status");
    if (object.stored !== true || textAt(status, "phase") !== "Succeeded") continue;
    const { results } = status;
    const artifacts = Array.isArray(results) ? results.map((result) => objectAt(result, "artifact")) : [];
    const isWhole = (artifact: (typeof artifacts)[number]) => {
      const found = bucket.find(textAt(artifact, "uri") ?? "");
      return found !== undefined && found.sha256 === artifact["sha256"] && found.bytes === artifact["bytes"];
    };
    if (artifacts.length > 0 && artifacts.every(isWhole)) continue;
    judge.violated(
      "CopiedWhole",
      `job ${object.serial} succeeded, and its store lacks results: ${JSON.stringify(status)}`,
    );
  }
  if (bucket.openSinks() > 0) judge.violated("CopiedWhole", `${bucket.openSinks()} writers stay open`);
}
