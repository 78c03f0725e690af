import type { Clock } from "../base/clock.ts";
import type { Assets } from "./assets.ts";
import type { EndpointCaller } from "./endpoint-call.ts";
import type { GuardOptions } from "./guard.ts";
import type { MediaOpener } from "./media.ts";
import type { Sessions } from "./sessions.ts";

export type UiOptions = GuardOptions & {
  sessions: Sessions;
  assets: Assets;
  openMedia: MediaOpener;
  callEndpoint: EndpointCaller;
  version: string;
  /** Why nothing can be changed; undefined: what the user may change can be. */
  readOnly: string | undefined;
  namespaces: readonly string[];
  clock: Clock;
};
