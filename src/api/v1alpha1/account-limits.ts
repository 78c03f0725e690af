import * as z from "zod";
import { int, listOf, text } from "../schema/fields.ts";

const limit = (description: string) => int(-1, description).optional();

/** The endpoint parameter limits of an account, with the service's names (interface: Endpoint parameter limits). */
export const accountLimitsSchema = z
  .object({
    minRootfsSize: limit("Smallest system disk, GB."),
    maxRootfsSize: limit("Largest system disk, GB."),
    freeRootfsSize: limit("Free system disk, GB."),
    minLocalVolumeSize: limit("Smallest local volume, GB."),
    maxLocalVolumeSize: limit("Largest local volume, GB."),
    freeLocalVolumeSize: limit("Free local volume, GB."),
    minWorkerNum: limit("Fewest workers."),
    maxWorkerNum: limit("Most workers."),
    minFreeTimeout: limit("Shortest idle timeout, seconds."),
    maxFreeTimeout: limit("Longest idle timeout, seconds."),
    minConcurrencyNum: limit("Fewest requests per worker."),
    maxConcurrencyNum: limit("Most requests per worker."),
    minQueueWaitTime: limit("Shortest queue wait, seconds."),
    maxQueueWaitTime: limit("Longest queue wait, seconds."),
    minRequestNum: limit("Fewest waiting requests."),
    maxRequestNum: limit("Most waiting requests."),
    minGPUNum: limit("Fewest GPUs per worker."),
    maxGPUNum: limit("Most GPUs per worker."),
    minRequestTimeout: limit("Shortest request timeout, seconds."),
    maxRequestTimeout: limit("Longest request timeout, seconds."),
    cudaVersionList: listOf(text(64, "A CUDA version.", 0), 100, "CUDA versions the service supports.").optional(),
  })
  .describe("The ranges of endpoint parameters that the service allows this account.");
