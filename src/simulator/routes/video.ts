import { chargeFor, checkMoney } from "../charging.ts";
import type { Call, CallOutcome, RouteTable } from "../dispatch.ts";
import { readMedia } from "../media/read-media.ts";
import { refuse } from "../refusal.ts";
import { imageToVideoBody, videoToVideoBody } from "../requests/video.ts";
import type { Service } from "../service.ts";
import { checked } from "../validate.ts";

/** Serves image-to-video and video-to-video. Both return a task. */
export function videoRoutes(routes: RouteTable, service: Service): void {
  const { config } = service;

  routes.add({
    method: "POST",
    path: "/v3/async/vid-i2v",
    operation: "submitImageToVideo",
    handle: ({ body, key }) => {
      checkEntitled(service);
      const { prompt } = checked(imageToVideoBody, body, config().unknownFields);
      // Interface: the default video length is 5 seconds.
      return submit(service, key, { product: "vid-i2v", type: config().taskTypes.imageToVideo, prompt, seconds: 5 });
    },
  });

  routes.add({
    method: "POST",
    path: "/v3/async/vid2.6-v2v",
    operation: "submitVideoToVideo",
    handle: ({ body, key }) => {
      checkEntitled(service);
      const { input, parameters } = checked(videoToVideoBody, body, config().unknownFields);
      const given = new Map<string, string | string[] | undefined>(Object.entries(input));
      for (const field of config().videoToVideoRequires) {
        if (!given.get(field)?.length) throw refuse.invalid(`input.${field}: is required`);
      }
      return submit(service, key, {
        product: "vid2.6-v2v",
        type: config().taskTypes.videoToVideo,
        prompt: input.prompt ?? "",
        seconds: parameters?.duration ?? 5,
      });
    },
  });
}

/** Interface: video is open only to users who completed enterprise identity verification. */
function checkEntitled(service: Service): void {
  if (!service.config().enterpriseVerified) throw refuse.notEntitled();
}

/** `seconds` is what the service charges for. The file is the same for every request. */
type VideoCall = { product: string; type: string; prompt: string; seconds: number };

function submit(service: Service, key: Call["key"], video: VideoCall): CallOutcome {
  checkMoney(service, key);
  const { videoTaskMs, videoUrlSeconds, videoPaddingBytes, prices } = service.config();
  const { product, type, prompt, seconds } = video;
  const task = service.tasks.submit({
    type,
    memberID: key.memberID,
    text: prompt,
    durationMs: videoTaskMs,
    urlSeconds: videoUrlSeconds,
    make: () => {
      const movie = readMedia("plain.mp4");
      const padded = videoPaddingBytes > 8;
      const head = padded ? Buffer.concat([movie, freeBoxHeader(videoPaddingBytes)]) : movie;
      return {
        field: "videos",
        format: "mp4",
        contentType: "video/mp4",
        head,
        padding: padded ? videoPaddingBytes - 8 : 0,
      };
    },
    charge: () =>
      chargeFor(service, key, {
        productID: product,
        productName: product,
        category: "gen_api",
        usage: seconds,
        unitPrice: prices.videoPerSecond,
        per: 1,
      }),
  });
  return { body: { task_id: task.id }, effect: "TaskSubmitted", id: task.id };
}

/** Returns the header of an MP4 box that players skip. */
function freeBoxHeader(size: number): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(size);
  header.write("free", 4, "latin1");
  return header;
}
