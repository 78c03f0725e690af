import { useId, useState } from "preact/hooks";
import type { CallView, ObjectRow } from "../../view-types.ts";
import { messageOf, postJson } from "../api.ts";
import { useApp } from "../app-context.ts";
import { Copyable } from "../components/copy.tsx";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
type Draft = { method: (typeof METHODS)[number]; path: string; body: string; withKey: boolean };

/** Calls the endpoint and shows what it answers. The call is sent by the page's server, for this user. */
export function RequestBox({ row, url }: { row: ObjectRow; url: string }) {
  const { state } = useApp();
  const [draft, setDraft] = useState<Draft>({ method: "GET", path: "/", body: "", withKey: false });
  const [sending, setSending] = useState(false);
  const [answer, setAnswer] = useState<CallView>();
  const [problem, setProblem] = useState("");
  const id = useId();
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  const hasBody = draft.method !== "GET" && draft.method !== "DELETE";

  async function send(event: Event): Promise<void> {
    event.preventDefault();
    setSending(true);
    setProblem("");
    setAnswer(undefined);
    try {
      const call = { ...draft, body: hasBody ? draft.body : "" };
      setAnswer(await postJson(`api/calls/${encodeURIComponent(row.namespace)}/${encodeURIComponent(row.name)}`, call));
    } catch (error) {
      setProblem(messageOf(error));
    }
    setSending(false);
  }

  return (
    <section class="card" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>Send a request</h2>
      <Copyable text={url} label="URL of the endpoint" />
      {state?.readOnly === undefined && (
        <form class="request" onSubmit={(event) => void send(event)}>
          <div class="request-line">
            <label class="wa-visually-hidden" for={`${id}-method`}>
              Method
            </label>
            <select
              id={`${id}-method`}
              value={draft.method}
              onChange={({ currentTarget }) =>
                change({ method: METHODS.find((one) => one === currentTarget.value) ?? "GET" })
              }
            >
              {METHODS.map((method) => (
                <option key={method}>{method}</option>
              ))}
            </select>
            <label class="wa-visually-hidden" for={`${id}-path`}>
              Path
            </label>
            <input
              id={`${id}-path`}
              pattern="/\S*"
              required
              title="A path of the endpoint, such as /v1/models"
              value={draft.path}
              onInput={({ currentTarget }) => change({ path: currentTarget.value })}
            />
            <button type="submit" class="wa-brand" disabled={sending}>
              {sending ? "Waiting…" : "Send"}
            </button>
          </div>
          {hasBody && (
            <div class="field">
              <label for={`${id}-body`}>Body (JSON)</label>
              <textarea
                id={`${id}-body`}
                rows={5}
                spellcheck={false}
                value={draft.body}
                onInput={({ currentTarget }) => change({ body: currentTarget.value })}
              />
            </div>
          )}
          <label class="option">
            <input
              type="checkbox"
              checked={draft.withKey}
              onChange={({ currentTarget }) => change({ withKey: currentTarget.checked })}
            />{" "}
            Send the API key of the account to this URL. You need the right to read its Secret.
          </label>
          <p class="help">A request can start a worker, which costs money. A cold start takes minutes.</p>
        </form>
      )}
      {problem !== "" && (
        <p class="notice wa-danger" role="alert">
          {problem}
        </p>
      )}
      {answer !== undefined && <Answer answer={answer} />}
    </section>
  );
}

function Answer({ answer }: { answer: CallView }) {
  const { status, firstByteMs, totalMs, headers, bytes, body, cut } = answer;
  return (
    <div aria-live="polite">
      <p>
        <span class={`badge ${status < 400 ? "wa-success" : "wa-danger"}`}>HTTP {status}</span> in{" "}
        {totalMs.toLocaleString()} ms, first byte after {firstByteMs.toLocaleString()} ms, {bytes.toLocaleString()}{" "}
        bytes
      </p>
      <p class="quiet value">{headers.map((header) => header.join(": ")).join("\n")}</p>
      {body === undefined ? (
        <p>The body is not text.</p>
      ) : (
        body !== "" && <Copyable text={readable(body)} label="body of the response" />
      )}
      {cut && <p class="quiet">Only the first part of the body is shown.</p>}
    </div>
  );
}

/** JSON with line breaks; other text as it is. */
function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), undefined, 2);
  } catch {
    return body;
  }
}
