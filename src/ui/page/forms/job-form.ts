import type { JobForm } from "../../view-types.ts";
import { defined, type FormField, type FormValues, type JobKindForm } from "./form.ts";
import { speechJobForm } from "./speech-job.ts";
import { videoJobForm } from "./video-job.ts";

const FORMS: readonly [JobKindForm, ...JobKindForm[]] = [speechJobForm, videoJobForm];

const FIRST: readonly FormField[] = [
  { name: "kind", label: "Kind", input: { kind: "Choice", choices: FORMS.map(({ kind }) => kind) }, required: true },
  { name: "namespace", label: "Namespace", required: true },
  { name: "name", label: "Name", required: true, help: "Lower-case letters, digits and '-'." },
];
const LAST: readonly FormField[] = [
  {
    name: "store",
    label: "Artifact store",
    help: "Results are copied to this ArtifactStore before their URLs expire. Empty: no copy.",
  },
];

export const INITIAL: FormValues = Object.assign({ kind: FORMS[0].kind }, ...FORMS.map(({ initial }) => initial));

/** The fields that are shown for these values. The server checks the manifest by the rules of the CRD. */
export function fieldsFor(values: FormValues): FormField[] {
  return [...FIRST, ...formFor(values).fields, ...LAST].filter(({ when }) => when?.(values) ?? true);
}

/** The manifest of the form, without what is not set. */
export function formOf(values: FormValues): JobForm {
  const { name = "", namespace = "", store = "" } = values;
  const { kind, spec } = formFor(values);
  const output = store === "" ? undefined : { storeRef: { name: store } };
  return { kind, name, namespace, spec: defined({ ...spec(values), output }) };
}

function formFor({ kind }: FormValues): JobKindForm {
  return FORMS.find((form) => form.kind === kind) ?? FORMS[0];
}
