import * as z from "zod";
import { isRecord, lenientNumber, lenientText, requiredText } from "./lenient.ts";

/** `audio` is hex, or a URL when output_format is `url` (interface: Speech synthesis). */
export const speechAnswer = z.looseObject({ audio: requiredText });

/** One `data:` line of a stream: status 1 with audio, then status 2. */
export const speechChunk = z
  .unknown()
  .refine(isRecord, "must be an object")
  .pipe(z.looseObject({ audio: lenientText, status: lenientNumber }));
