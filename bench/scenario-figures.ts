import { z } from "zod";

const counts = z.record(z.string(), z.number());

/** An operator at rest. */
export const restFigures = z.object({
  cpuMsPerMinute: z.number(),
  apiRequestsPerMinute: z.number(),
  remoteCallsPerMinute: z.number(),
  reconcilesPerMinute: z.number(),
  /** A minute, by verb and by operation. */
  apiRequests: counts.default({}),
  remoteCalls: counts.default({}),
  lagP99Ms: z.number(),
  residentMiB: z.number(),
  /** After a garbage collection. */
  heapMiB: z.number(),
  journalCharacters: z.number(),
});
export type RestFigures = z.output<typeof restFigures>;
