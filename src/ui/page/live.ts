import { useSyncExternalStore } from "preact/compat";
import type { ChangeMessage, SessionState } from "../view-types.ts";
import { addressOf } from "./sign-in.ts";

/** `connected`: changes arrive. `state` is undefined until the server has sent it first. */
export type LiveState = { connected: boolean; state: SessionState | undefined };
/** Undefined: anything may have changed, as after an interruption. */
export type Changed = ChangeMessage | undefined;

/** The server sends something every 10 s: after this time, ms, the connection counts as broken. */
const SILENCE_MS = 25_000;
const RETRY_MS = 2_000;

/** The stream of changes. It reconnects after an error, and then everything counts as changed. */
export type Live = {
  current(): LiveState;
  onState(listener: () => void): () => void;
  onChange(listener: (changed: Changed) => void): () => void;
};

export function createLive(path: string): Live {
  const stateListeners = new Set<() => void>();
  const changeListeners = new Set<(changed: Changed) => void>();
  let live: LiveState = { connected: false, state: undefined };
  let source: EventSource | undefined;
  let silence = 0;

  function update(next: Partial<LiveState>): void {
    live = { ...live, ...next };
    for (const listener of stateListeners) listener();
  }

  function alive(): void {
    window.clearTimeout(silence);
    silence = window.setTimeout(reconnect, SILENCE_MS);
    if (!live.connected) update({ connected: true });
  }

  function reconnect(): void {
    source?.close();
    window.clearTimeout(silence);
    if (live.connected) update({ connected: false });
    silence = window.setTimeout(() => void connect(), RETRY_MS);
  }

  async function connect(): Promise<void> {
    silence = window.setTimeout(reconnect, SILENCE_MS);
    const own = silence;
    const url = await addressOf(path).catch(() => undefined);
    if (silence !== own) return; // it took too long, and another attempt has begun
    if (url === undefined) return reconnect();
    source = new EventSource(url);
    let first = true;
    source.addEventListener("state", ({ data }) => {
      alive();
      update({ state: JSON.parse(data) });
      if (first) for (const listener of changeListeners) listener(undefined);
      first = false;
    });
    source.addEventListener("change", ({ data }) => {
      alive();
      const changed: ChangeMessage = JSON.parse(data);
      for (const listener of changeListeners) listener(changed);
    });
    source.addEventListener("ping", alive);
    source.addEventListener("error", reconnect);
  }
  void connect();

  const subscribeTo =
    <T>(listeners: Set<T>) =>
    (listener: T) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    };
  return { current: () => live, onState: subscribeTo(stateListeners), onChange: subscribeTo(changeListeners) };
}

export function useLiveState(live: Live): LiveState {
  return useSyncExternalStore(live.onState, live.current);
}
