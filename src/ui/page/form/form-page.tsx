import { useState } from "preact/hooks";
import type { AppliedView, EditView, FormView, ManifestProblemView, ReviewView } from "../../view-types.ts";
import { objectPath, postJson } from "../api.ts";
import { useApp } from "../app-context.ts";
import { CopyButton } from "../components/copy.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Title } from "../components/title.tsx";
import type { ViewRoute } from "../route.ts";
import { useResource } from "../use-resource.ts";
import { type Draft, valueAt, withValue } from "./draft.ts";
import { Field, type FormContext } from "./fields.tsx";
import { CREATED_KINDS, formOf } from "./kinds.ts";
import { Review } from "./review.tsx";
import { partsOf, withoutGroups } from "./schema-parts.ts";
import { type CheckedDraft, useDraft } from "./use-draft.ts";

const never = () => false;

const PER = { Job: "for this job", Batch: "for all items", Hour: "an hour with all workers" } as const;

/** Makes an object: of a kind, or like another one. The query has values of its spec by path. */
export function NewPage({ route }: { route: ViewRoute }) {
  const [, kind = "SpeechJob", namespace, name] = route.path;
  if (namespace !== undefined && name !== undefined) {
    return <Loaded path={`api/manifests/${kind}/${namespace}/${name}`} copy />;
  }
  return <Start key={kind} kind={kind} query={route.query} />;
}

/** Changes an object, after a look at the difference. */
export function EditPage({ route }: { route: ViewRoute }) {
  return <Loaded path={`api/manifests/${route.path.slice(1).map(encodeURIComponent).join("/")}`} />;
}

function Loaded({ path, copy = false }: { path: string; copy?: boolean }) {
  const { live } = useApp();
  const { data, error } = useResource<EditView>(live, path, never);
  if (data === undefined) return error === undefined ? <p>Loading…</p> : <ErrorNotice error={error} />;
  const manifest: Draft = { ...data.manifest };
  if (!copy) return <Form initial={manifest} edited={data} />;
  const name = String(valueAt(manifest, ["metadata", "name"]));
  return <Form initial={withValue(manifest, ["metadata", "name"], `${name}-copy`)} />;
}

function Start({ kind, query }: { kind: string; query: URLSearchParams }) {
  const { state } = useApp();
  const namespace = query.get("namespace") ?? state?.namespaces[0] ?? "default";
  const metadata = { name: query.get("name") ?? "", namespace };
  let initial: Draft = { apiVersion: "mooring.dev/v1alpha1", kind, metadata, spec: formOf(kind).initial };
  for (const [path, value] of query) {
    if (path !== "namespace" && path !== "name") initial = withValue(initial, ["spec", ...path.split(".")], value);
  }
  return <Form initial={initial} />;
}

type FormProps = { initial: Draft; edited?: EditView };

function Form({ initial, edited }: FormProps) {
  const { live, state, announce } = useApp();
  const checked = useDraft(initial);
  const { draft, problems, failure } = checked;
  const [submitted, setSubmitted] = useState(edited !== undefined);
  const [review, setReview] = useState<ReviewView>();
  const [busy, setBusy] = useState(false);
  const kind = String(draft["kind"]);
  const namespace = String(valueAt(draft, ["metadata", "namespace"]) ?? "");
  const { data, error } = useResource<FormView>(live, `api/forms/${kind}/${namespace || "-"}`, never);
  const { title, effect } = formOf(kind);
  const name = String(valueAt(initial, ["metadata", "name"]));

  async function act(work: (manifest: Draft) => Promise<void>): Promise<void> {
    setSubmitted(true);
    setBusy(true);
    try {
      const manifest = await checked.check();
      if (manifest !== undefined) await work(manifest);
    } catch (error) {
      checked.refuse(error);
    }
    setBusy(false);
  }
  const done = (applied: AppliedView, what: string) => {
    announce(`${applied.kind} ${applied.name} is ${what}`);
    window.location.hash = `#/objects/${objectPath(applied)}`;
  };
  const create = async (manifest: Draft) => done(await postJson<AppliedView>("api/objects", manifest), "created");
  const editOf = (manifest: Draft) => ({ manifest, uid: edited?.uid, version: edited?.version });
  const compare = async (manifest: Draft) => setReview(await postJson<ReviewView>("api/reviews", editOf(manifest)));
  const apply = async (manifest: Draft) =>
    done(await postJson<AppliedView>("api/objects", editOf(manifest), "PUT"), "changed");

  return (
    <>
      <Title text={edited === undefined ? title : `Edit ${name}`} />
      {edited === undefined && <Kinds kind={kind} />}
      <ErrorNotice error={error} />
      <div class="columns">
        <form
          class="card"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            void act(edited === undefined ? create : compare);
          }}
        >
          {data !== undefined && (
            <Fields view={data} checked={checked} problems={submitted ? problems : []} isNew={edited === undefined} />
          )}
          {submitted && <Problems problems={problems} failure={failure} />}
          {state?.readOnly === undefined ? (
            <>
              {edited === undefined && <p class="quiet">{effect}</p>}
              {checked.price !== undefined && (
                <p>
                  <strong>¥{checked.price.amount}</strong> {PER[checked.price.per]}, at the last known price.
                </p>
              )}
              <button type="submit" class="wa-brand" disabled={busy}>
                {edited === undefined ? "Create" : "Review the change"}
              </button>
            </>
          ) : (
            <p class="quiet">{state.readOnly}. Copy the manifest and apply it with kubectl create -f.</p>
          )}
        </form>
        <Manifest checked={checked} />
      </div>
      {review !== undefined && (
        <Review
          review={review}
          onApply={() => void act(apply)}
          onCancel={() => setReview(undefined)}
          failure={failure}
        />
      )}
    </>
  );
}

function Kinds({ kind }: { kind: string }) {
  return (
    <nav class="tabs" aria-label="Kinds">
      {CREATED_KINDS.map((one) => (
        <a key={one} href={`#/new/${one}`} aria-current={one === kind ? "page" : undefined}>
          {one}
        </a>
      ))}
    </nav>
  );
}

type FieldsProps = { view: FormView; checked: CheckedDraft; problems: readonly ManifestProblemView[]; isNew: boolean };

function Fields({ view, checked, problems, isNew }: FieldsProps) {
  const { draft, set } = checked;
  const { first, oneOf = [] } = formOf(view.kind);
  const [chosen, setChosen] = useState(
    oneOf.find((group) => valueAt(draft, ["spec", group]) !== undefined) ?? oneOf[0] ?? "",
  );
  const form: FormContext = {
    draft,
    choices: view.choices,
    problems,
    set: (path, value) => set(withValue(draft, path, value)),
  };
  const parts = partsOf(withoutGroups(view.schema, oneOf, chosen), first);
  const text = (field: string, schema = {}) => (
    <Field form={form} schema={{ type: "string", ...schema }} path={["metadata", field]} required />
  );
  return (
    <>
      {isNew && (
        <div class="names">
          {view.namespaced && (
            <Field
              form={{ ...form, choices: { "metadata.namespace": view.namespaces } }}
              schema={{ type: "string" }}
              path={["metadata", "namespace"]}
              required
            />
          )}
          {text("name", { description: "Lower-case letters, digits and '-'." })}
        </div>
      )}
      {oneOf.length > 0 && (
        <div class="field">
          <label for="field-group">Made from</label>
          <select
            id="field-group"
            value={chosen}
            onChange={({ currentTarget: { value } }) => {
              setChosen(value);
              set(
                oneOf.reduce(
                  (next, group) => (group === value ? next : withValue(next, ["spec", group], undefined)),
                  draft,
                ),
              );
            }}
          >
            {oneOf.map((group) => (
              <option key={group}>{group}</option>
            ))}
          </select>
        </div>
      )}
      {Object.entries(parts.first.properties ?? {}).map(([name, schema]) => (
        <Field
          key={name}
          form={form}
          schema={schema}
          path={["spec", name]}
          required={view.schema.required?.includes(name) ?? false}
        />
      ))}
      <details class="more">
        <summary>More settings</summary>
        {Object.entries(parts.rest.properties ?? {}).map(([name, schema]) => (
          <Field key={name} form={form} schema={schema} path={["spec", name]} />
        ))}
      </details>
    </>
  );
}

/** All problems in one place as well: a field may be folded, or in the YAML only. */
function Problems({ problems, failure }: { problems: readonly ManifestProblemView[]; failure: string }) {
  if (problems.length === 0 && failure === "") return null;
  return (
    <div class="notice wa-danger" role="alert">
      {failure !== "" && <p>{failure}</p>}
      <ul>
        {problems.map(({ path, message }) => (
          <li key={`${path}${message}`}>
            {path}: {message}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Manifest({ checked: { yaml, type } }: { checked: CheckedDraft }) {
  return (
    <section class="card manifest" aria-labelledby="manifest">
      <h2 id="manifest">Manifest</h2>
      <textarea
        aria-labelledby="manifest"
        spellcheck={false}
        rows={Math.min(40, Math.max(12, yaml.split("\n").length + 1))}
        value={yaml}
        onInput={({ currentTarget }) => type(currentTarget.value)}
      />
      <CopyButton text={yaml} label="Copy manifest" />
    </section>
  );
}
