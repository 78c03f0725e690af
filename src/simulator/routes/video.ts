import type { FastifyInstance } from "fastify";
import { imageToVideoRequest, videoToVideoRequest } from "../../provider/wire/video.ts";
import { chargeFor, checkMoney } from "../charging.ts";
import { type Call, type Outcome, serve } from "../dispatch.ts";
import { plainVideo } from "../media/mp4.ts";
import { refuse } from "../refusal.ts";
import type { Service } from "../service.ts";
import { checked } from "../validate.ts";

/** Video generation: image-to-video and video-to-video. Both answer a task. */
export function videoRoutes(app: FastifyInstance, service: Service): void {
  const { config } = service;

  serve(app, service, {
    method: "POST",
    path: "/v3/async/vid-i2v",
    operation: "submitImageToVideo",
    handle: ({ body, key }) => {
      checkEntitled(service);
      const { prompt, width, height } = checked(imageToVideoRequest, body, config().unknownFields);
      // Interface: when width or height is not given, they are forced to 832 and 480; the default length is 5 seconds.
      const [w, h] = width === undefined || height === undefined ? [832, 480] : [width, height];
      const video = {
        product: "vid-i2v",
        type: config().taskTypes.imageToVideo,
        prompt,
        width: w,
        height: h,
        seconds: 5,
      };
      return submit(service, key, video);
    },
  });

  serve(app, service, {
    method: "POST",
    path: "/v3/async/vid2.6-v2v",
    operation: "submitVideoToVideo",
    handle: ({ body, key }) => {
      checkEntitled(service);
      const { input, parameters } = checked(videoToVideoRequest, body, config().unknownFields);
      for (const field of config().videoToVideoRequires) {
        if (!Object.entries(input).some(([name, value]) => name === field && value !== undefined && value.length > 0)) {
          throw refuse.invalid(`input.${field}: is required`);
        }
      }
      const [width = 1280, height = 720] = (parameters?.size ?? "1280*720").split("*").map(Number);
      const seconds = parameters?.duration ?? 5;
      const prompt = input.prompt ?? "";
      return submit(service, key, {
        product: "vid2.6-v2v",
        type: config().taskTypes.videoToVideo,
        prompt,
        width,
        height,
        seconds,
      });
    },
  });
}

/** Interface: open only to users who completed enterprise identity verification. */
function checkEntitled(service: Service): void {
  if (!service.config().enterpriseVerified) throw refuse.notEntitled();
}

type Video = { product: string; type: string; prompt: string; width: number; height: number; seconds: number };

function submit(service: Service, key: Call["key"], video: Video): Outcome {
  checkMoney(service, key);
  const { videoTaskMs, videoUrlSeconds, videoPaddingBytes, prices } = service.config();
  const { product, type, prompt, width, height, seconds } = video;
  const colour = {
    y: Math.round(service.random.between(60, 200)),
    cb: Math.round(service.random.between(40, 210)),
    cr: Math.round(service.random.between(40, 210)),
  };
  const task = service.tasks.submit({
    type,
    text: prompt,
    durationMs: videoTaskMs,
    urlSeconds: videoUrlSeconds,
    make: () => {
      const movie = plainVideo({ width, height, seconds, colour });
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

/** Head of an MP4 box that players skip. */
function freeBoxHeader(size: number): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(size);
  header.write("free", 4, "latin1");
  return header;
}
