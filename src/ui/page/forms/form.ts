/** What a form holds: every field as text, "" for what is not set. */
export type FormValues = Readonly<Record<string, string>>;

export type FormField = {
  name: string;
  label: string;
  help?: string;
  required?: boolean;
  /** Absent: a line of text. */
  input?: { kind: "Lines" } | { kind: "Number"; step: string } | { kind: "Choice"; choices: readonly string[] };
  /** For which values of the others the field is shown; absent: for all. */
  when?: (values: FormValues) => boolean;
};

/** The form of one kind of jobs. */
export type JobKindForm = {
  kind: string;
  fields: readonly FormField[];
  /** Values of fields that have one from the start. */
  initial: FormValues;
  /** The spec; what is undefined is left out. */
  spec(values: FormValues): Record<string, unknown>;
};

export function optional(text: string): string | undefined {
  return text === "" ? undefined : text;
}

export function optionalNumber(text: string): number | undefined {
  return text === "" ? undefined : Number(text);
}

/** The object without what is undefined. */
export function defined(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
