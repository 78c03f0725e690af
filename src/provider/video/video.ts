import type { ServiceClient } from "../client.ts";
import type { Video } from "../types.ts";
import { imageToVideoBody, videoToVideoBody } from "./body.ts";

export function createVideo(client: Pick<ServiceClient, "submitImageToVideo" | "submitVideoToVideo">): Video {
  return {
    imageToVideo: (request, options) => client.submitImageToVideo(imageToVideoBody(request), options),
    videoToVideo: (request, options) => client.submitVideoToVideo(videoToVideoBody(request), options),
  };
}
