import { useEffect, useState } from "preact/hooks";
import type { ManifestView } from "../../view-types.ts";
import { ApiError, objectPath, postJson } from "../api.ts";
import { useApp } from "../app-context.ts";
import { Copyable } from "../components/copy.tsx";
import type { FormField, FormValues } from "../forms/form.ts";
import { fieldsFor, formOf, INITIAL } from "../forms/job-form.ts";
import type { ViewRoute } from "../route.ts";

/** Time after the last key until the manifest is made, ms. */
const TYPING_MS = 200;

type CreatedJob = { kind: string; namespace: string; name: string };

/** A form that makes the manifest of a job, to copy or to apply. */
export function Create({ route }: { route: ViewRoute }) {
  const { state, announce } = useApp();
  const [values, setValues] = useState<FormValues>(() => ({
    ...INITIAL,
    namespace: state?.namespaces[0] ?? "default",
    ...Object.fromEntries(route.query),
  }));
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [touched, setTouched] = useState(false);
  const manifest = useManifest(values, setProblem);

  async function apply(): Promise<void> {
    setTouched(true);
    if (manifest === undefined || manifest.problems.length > 0) return;
    setBusy(true);
    setProblem("");
    try {
      const created = await postJson<CreatedJob>("api/jobs", formOf(values));
      announce(`${created.kind} ${created.name} is created`);
      window.location.hash = `#/objects/${objectPath(created)}`;
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error));
    }
    setBusy(false);
  }

  return (
    <>
      <h1 tabIndex={-1}>Create a job</h1>
      <div class="columns">
        <form
          class="card"
          onSubmit={(event) => {
            event.preventDefault();
            void apply();
          }}
        >
          {fieldsFor(values).map((field) => (
            <Field
              key={field.name}
              field={field}
              value={values[field.name] ?? ""}
              onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
            />
          ))}
          {touched && (manifest?.problems.length ?? 0) > 0 && (
            <div class="notice bad" role="alert">
              <ul>
                {manifest?.problems.map(({ path, message }) => (
                  <li key={`${path}${message}`}>
                    {path}: {message}
                  </li>
                ))}
              </ul>
            </div>
          )}
          {problem !== "" && (
            <p class="notice bad" role="alert">
              {problem}
            </p>
          )}
          {state?.readOnly === undefined ? (
            <>
              <p class="quiet">The job sends one paid request.</p>
              <button type="submit" disabled={busy}>
                Apply
              </button>
            </>
          ) : (
            <p class="quiet">{state.readOnly}. Copy the manifest and apply it with kubectl create -f.</p>
          )}
        </form>
        <section class="card" aria-labelledby="manifest">
          <h2 id="manifest">Manifest</h2>
          <Copyable text={manifest?.yaml ?? ""} label="Manifest of the job" />
        </section>
      </div>
    </>
  );
}

/** The manifest that the server makes of the values. */
function useManifest(values: FormValues, onProblem: (problem: string) => void): ManifestView | undefined {
  const [manifest, setManifest] = useState<ManifestView>();
  useEffect(() => {
    let outdated = false;
    const timer = window.setTimeout(() => {
      postJson<ManifestView>("api/manifests", formOf(values)).then(
        (made) => {
          if (!outdated) setManifest(made);
        },
        (error: unknown) => onProblem(error instanceof ApiError ? error.message : String(error)),
      );
    }, TYPING_MS);
    return () => {
      outdated = true;
      window.clearTimeout(timer);
    };
  }, [values]);
  return manifest;
}

type FieldProps = { field: FormField; value: string; onChange: (value: string) => void };

function Field({ field: { name, label, help, required = false, input }, value, onChange }: FieldProps) {
  const common = {
    id: `field-${name}`,
    name,
    value,
    required,
    "aria-describedby": help === undefined ? undefined : `help-${name}`,
  };
  return (
    <div class="field">
      <label for={common.id}>{label}</label>
      {input?.kind === "Choice" && (
        <select {...common} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          {input.choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice === "" ? "default" : choice}
            </option>
          ))}
        </select>
      )}
      {input?.kind === "Lines" && (
        <textarea {...common} rows={4} onInput={({ currentTarget }) => onChange(currentTarget.value)} />
      )}
      {input?.kind === "Number" && (
        <input
          {...common}
          type="number"
          step={input.step}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
      {input === undefined && <input {...common} onInput={({ currentTarget }) => onChange(currentTarget.value)} />}
      {help !== undefined && (
        <p id={`help-${name}`} class="quiet">
          {help}
        </p>
      )}
    </div>
  );
}
