import { anyAddress } from "../../src/base/address-guard.ts";
import { createCallbacks } from "../../src/controllers/jobs/callback.ts";
import type { Callbacks } from "../../src/controllers/jobs/types.ts";

/** A signing secret of Standard Webhooks. */
export const SECRET = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;

/** Callbacks that a receiver takes at once, unless `send` is given. */
export function callbacksBy(
  send: Callbacks["send"] = async () => ({ kind: "Delivered" }),
  lookups: Callbacks["lookups"] = { public: anyAddress, service: anyAddress },
): Callbacks {
  return createCallbacks({ send, lookups });
}
