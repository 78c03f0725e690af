import { rfc3339, systemClock } from "../../../base/clock.ts";
import { createLogger } from "../../../base/log.ts";
import { oneLine } from "../../../base/manifest-yaml.ts";
import type { AnyObject } from "../../../describe/object-state.ts";
import type { KubeClient, KubeQuery } from "../../../kube/client.ts";
import type { Resource } from "../../../kube/resource.ts";
import { createInformer } from "../../../runtime/informer.ts";
import { createLiveText, type Screen } from "../../live-text.ts";
import { type ShownObject, shownObject } from "./rows.ts";

/** How often a table is drawn again, ms: its times go on although no object changes. */
const REDRAW_MS = 1_000;

export type Watched = {
  resources: readonly Resource[];
  /** undefined: all. */
  namespace: string | undefined;
  selector: KubeQuery;
  /** Whether an object belongs to the list. */
  isShown(object: ShownObject): boolean;
  /** The list as text. */
  print(objects: readonly ShownObject[]): string;
};

/**
 * Shows the list until the process is interrupted. On a terminal, the table is drawn again in its place; elsewhere, one line follows for each
 * change. The list is the one with which the informers start, so that no change between two lists is lost.
 */
export async function watchObjects(
  kube: KubeClient,
  screen: Screen,
  { resources, namespace, selector, isShown, print }: Watched,
) {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  const log = createLogger({ logLevel: "error", logFormat: "json" });
  const shared = { client: kube, clock: systemClock, random: Math.random, log };
  const namespaces = namespace === undefined ? [] : [namespace];
  const before = new Map<string, string>();
  let listed = false;
  const informers = resources.map((resource) => {
    const informer = createInformer<AnyObject>({ ...shared, resource, namespaces, selector });
    informer.onChange((change) => {
      const { uid } = change.object.metadata;
      const object = shownObject(resource, change.object, systemClock.now());
      const now = change.type === "Deleted" ? "Deleted" : `${object.state} (${object.reason})`;
      const earlier = before.get(uid);
      before.set(uid, now);
      if (screen.isTTY === true || !listed || earlier === now || !isShown(object)) return;
      screen.write(`${changeLine(object, earlier, now, systemClock.now())}\n`);
    });
    return { resource, informer };
  });
  await Promise.all(informers.map(({ informer }) => informer.start(stop.signal)));
  const list = () =>
    informers
      .flatMap(({ resource, informer }) =>
        [...informer.store.list()].map((object) => shownObject(resource, object, systemClock.now())),
      )
      .filter(isShown);
  listed = true;
  if (screen.isTTY === true) await redraw(createLiveText(screen), () => print(list()), stop.signal);
  else if (!stop.signal.aborted) screen.write(print(list()));
  await Promise.all(informers.map(({ informer }) => informer.stopped()));
}

/** Draws until the signal is aborted. */
function redraw(draw: (text: string) => void, text: () => string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => draw(text()), REDRAW_MS);
    draw(text());
    const end = () => {
      clearInterval(timer);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

function changeLine(object: ShownObject, earlier: string | undefined, state: string, now: number): string {
  const { namespace, kind, name, message } = object;
  const where = `${namespace === "" ? "" : `${namespace} `}${kind}/${name}`;
  const change = earlier === undefined ? state : `${earlier} -> ${state}`;
  return `${rfc3339(now)}   ${where}   ${change}${state === "Deleted" ? "" : `: ${oneLine(message)}`}`;
}
