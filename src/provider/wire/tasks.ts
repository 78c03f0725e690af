import * as z from "zod";
import { OUTPUTS_READ, TASK_ID } from "./bounds.ts";
import {
  firstRecords,
  firstValues,
  identifier,
  isRecord,
  lenientNumber,
  lenientRecord,
  lenientText,
  requiredText,
  toText,
} from "./lenient.ts";

/** Results of asynchronous tasks (interface: Async task result). */

/** What every asynchronous operation answers. */
export const submittedTask = z.looseObject({ task_id: identifier(TASK_ID) });

export const taskRecord = z.looseObject({
  task_id: lenientText,
  task_type: lenientText,
  status: requiredText,
  reason: lenientText,
  eta: lenientNumber,
  progress_percent: lenientNumber,
});

/** The shape of an image item is not shown: a bare URL or an object in the manner of the other two is read. */
const imageItem = z.unknown().transform((value) =>
  isRecord(value)
    ? {
        image_url: toText(value["image_url"]),
        image_url_ttl: toText(value["image_url_ttl"]),
        image_type: toText(value["image_type"]),
      }
    : { image_url: toText(value), image_url_ttl: "", image_type: "" },
);

export const taskResult = z.looseObject({
  extra: lenientRecord,
  task: taskRecord,
  images: firstValues(imageItem, OUTPUTS_READ),
  videos: firstRecords(
    z.looseObject({ video_url: lenientText, video_url_ttl: lenientText, video_type: lenientText }),
    OUTPUTS_READ,
  ),
  audios: firstRecords(
    z.looseObject({
      audio_url: lenientText,
      audio_url_ttl: lenientText,
      audio_type: lenientText,
      audio_metadata: lenientRecord,
    }),
    OUTPUTS_READ,
  ),
});
export type TaskResultWire = z.output<typeof taskResult>;
