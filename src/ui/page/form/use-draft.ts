import { useEffect, useState } from "preact/hooks";
import type { ManifestProblemView, ManifestView } from "../../view-types.ts";
import { ApiError, messageOf, postJson } from "../api.ts";
import type { Draft } from "./draft.ts";

/** Time after the last key until the manifest is checked, ms. */
const TYPING_MS = 250;

export type CheckedDraft = {
  draft: Draft;
  set(draft: Draft): void;
  /** The draft as YAML, or what the user typed in its place. */
  yaml: string;
  type(yaml: string): void;
  /** Checks what is there now, also what was typed a moment ago. Undefined: it has problems. */
  check(): Promise<Draft | undefined>;
  problems: readonly ManifestProblemView[];
  price: ManifestView["price"];
  /** Problems that the API server reported. They stay until the next change. */
  refuse(error: unknown): void;
  /** Why the last request failed, when no field is to blame. */
  failure: string;
};

/** A manifest that is written as a form or as YAML. The server checks it by the rules of the CRD. */
export function useDraft(initial: Draft): CheckedDraft {
  const [draft, setDraft] = useState(initial);
  const [typed, setTyped] = useState<string>();
  const [checked, setChecked] = useState<ManifestView>({ yaml: "", problems: [] });
  const [failure, setFailure] = useState("");

  const read = () => postJson<ManifestView>("api/manifests", typed === undefined ? { object: draft } : { text: typed });

  useEffect(() => {
    let outdated = false;
    const timer = window.setTimeout(async () => {
      try {
        const view = await read();
        if (outdated) return;
        setChecked(view);
        if (typed !== undefined && view.object !== undefined) setDraft({ ...view.object });
      } catch (error) {
        if (!outdated) setFailure(messageOf(error));
      }
    }, TYPING_MS);
    return () => {
      outdated = true;
      window.clearTimeout(timer);
    };
    // What is typed becomes the draft: that is no other change.
  }, [typed ?? draft]);

  return {
    draft,
    set(next) {
      setTyped(undefined);
      setFailure("");
      setDraft(next);
    },
    yaml: typed ?? checked.yaml,
    type(yaml) {
      setFailure("");
      setTyped(yaml);
    },
    async check() {
      const view = await read();
      setChecked(view);
      return view.problems.length === 0 && view.object !== undefined ? { ...view.object } : undefined;
    },
    problems: checked.problems,
    price: checked.price,
    refuse(error) {
      const problems = error instanceof ApiError ? error.problems : [];
      setChecked((before) => ({ ...before, problems: [...problems] }));
      setFailure(messageOf(error));
    },
    failure,
  };
}
