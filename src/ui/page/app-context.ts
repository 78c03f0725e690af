import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { SessionState } from "../view-types.ts";
import type { Live } from "./live.ts";

/** What every view uses. */
export type AppContext = {
  live: Live;
  state: SessionState | undefined;
  /** Says a text to screen readers, and shows it for some seconds. */
  announce(text: string): void;
  /** Whether the user went to a view: the first one does not take the focus. */
  navigated: { readonly current: boolean };
};

const Context = createContext<AppContext | undefined>(undefined);

export const AppProvider = Context.Provider;

export function useApp(): AppContext {
  const context = useContext(Context);
  if (context === undefined) throw new Error("this component needs an AppProvider around it");
  return context;
}
