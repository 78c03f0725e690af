import { Plus, Trash2 } from "lucide";
import type { FieldSchema, ManifestProblemView } from "../../view-types.ts";
import { Icon } from "../components/icon.tsx";
import { type Draft, fieldPath, type Path, valueAt } from "./draft.ts";

/** What all fields of a form share. */
export type FormContext = {
  draft: Draft;
  choices: Readonly<Record<string, string[]>>;
  problems: readonly ManifestProblemView[];
  set(path: Path, value: unknown): void;
};

type FieldProps = { form: FormContext; schema: FieldSchema; path: Path; required?: boolean; label?: string };

/** From this length on, a text has room for lines and a counter. */
const LONG_TEXT = 1_000;

/** A field of any type, with its description, its choices and what is wrong with it. */
export function Field({ form, schema, path, required = false, label = labelOf(path) }: FieldProps) {
  const { type, properties, items } = schema;
  if (type === "object" && properties !== undefined) {
    return <Group form={form} schema={schema} path={path} required={required} />;
  }
  if (type === "array" && items?.properties !== undefined) {
    return <Items form={form} schema={schema} path={path} required={required} />;
  }
  if (type === "object") return null; // free-form: in the YAML only
  const id = `field-${path.join("-")}`;
  const place = path.join(".");
  // What is wrong with a list is wrong with one of its items.
  const own = form.problems.filter(
    (one) => one.path === place || (type === "array" && one.path.startsWith(`${place}.`)),
  );
  return (
    <div class={own.length > 0 ? "field invalid" : "field"}>
      <label for={id}>
        {label}
        {required && <span class="quiet"> required</span>}
      </label>
      <Input form={form} schema={schema} path={path} id={id} invalid={own.length > 0} />
      {own.map((problem) => (
        <p key={`${problem.path}${problem.message}`} class="problem" id={`${id}-problem`}>
          {problem.path === place ? "" : `${problem.path.slice(place.length + 1)}: `}
          {problem.message}
        </p>
      ))}
      {schema.description !== undefined && (
        <p id={`${id}-help`} class="help">
          {schema.description}
        </p>
      )}
    </div>
  );
}

/** `voiceID` in `voiceSetting` is "Voice ID". */
function labelOf(path: Path): string {
  const name = String(path.findLast((part) => typeof part === "string") ?? "");
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/ ([A-Z])(?=[a-z])/g, (_, letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What is not JSON stays a text, of which the check of the manifest says that it must be an object. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return line;
  }
}

type InputProps = { form: FormContext; schema: FieldSchema; path: Path; id: string; invalid: boolean };

function Input({ form, schema, path, id, invalid }: InputProps) {
  const { type, enum: allowed, maxLength = 0, minimum, maximum } = schema;
  const value = valueAt(form.draft, path);
  const set = (next: unknown) => form.set(path, next);
  const common = {
    id,
    "aria-invalid": invalid,
    "aria-describedby": [invalid ? `${id}-problem` : "", `${id}-help`].join(" ").trim(),
  };
  if (allowed !== undefined) {
    const choose = (text: string) => set(allowed.find((one) => String(one) === text));
    return (
      <select
        {...common}
        value={value === undefined ? "" : String(value)}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        <option value="">{schema.default === undefined ? "not set" : `default (${String(schema.default)})`}</option>
        {allowed.map((one) => (
          <option key={one} value={String(one)}>
            {one}
          </option>
        ))}
      </select>
    );
  }
  if (type === "boolean") {
    const checked = value === undefined ? schema.default === true : value === true;
    return (
      <input
        {...common}
        type="checkbox"
        checked={checked}
        onChange={({ currentTarget }) => set(currentTarget.checked)}
      />
    );
  }
  if (type === "integer" || type === "number") {
    const number = (text: string) => set(text === "" ? undefined : Number(text));
    return (
      <input
        {...common}
        type="number"
        step={type === "integer" ? 1 : "any"}
        min={minimum}
        max={maximum}
        value={typeof value === "number" ? value : ""}
        onInput={({ currentTarget }) => number(currentTarget.value)}
      />
    );
  }
  if (type === "array") {
    const isFree = schema.items?.type === "object";
    const lines = (text: string) => text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));
    const list = (text: string) => set(text === "" ? undefined : isFree ? lines(text).map(parsed) : lines(text));
    const written = isFree && Array.isArray(value) ? value.map((item) => JSON.stringify(item)) : value;
    const shown = Array.isArray(written) ? written.join("\n") : "";
    return (
      <textarea
        {...common}
        rows={3}
        placeholder={isFree ? "One on each line, in JSON" : "One on each line"}
        defaultValue={shown}
        onChange={({ currentTarget }) => list(currentTarget.value)}
      />
    );
  }
  const text = typeof value === "string" ? value : "";
  const type_ = (next: string) => set(next === "" ? undefined : next);
  if (maxLength >= LONG_TEXT && !/URL|image|uri/i.test(String(path.at(-1)))) {
    return (
      <>
        <textarea {...common} rows={6} value={text} onInput={({ currentTarget }) => type_(currentTarget.value)} />
        <Counter text={text} limit={limitOf(form.draft, path, maxLength)} />
      </>
    );
  }
  const choices = form.choices[fieldPath(path)] ?? [];
  return (
    <>
      <input
        {...common}
        value={text}
        list={choices.length > 0 ? `${id}-choices` : undefined}
        onInput={({ currentTarget }) => type_(currentTarget.value)}
      />
      {choices.length > 0 && (
        <datalist id={`${id}-choices`}>
          {choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </>
  );
}

/** The synchronous model takes shorter texts than the schema. */
function limitOf(draft: Draft, path: Path, maxLength: number): number {
  const isTurbo = path.at(-1) === "text" && valueAt(draft, ["spec", "model"]) === "speech-2.6-turbo";
  return isTurbo ? 9_999 : maxLength;
}

/** Characters as the service counts them: code points. */
function Counter({ text, limit }: { text: string; limit: number }) {
  const count = [...text].length;
  return (
    <p class={count > limit ? "counter problem" : "counter quiet"}>
      {count.toLocaleString()} of at most {limit.toLocaleString()} characters
    </p>
  );
}

function Group({ form, schema, path, required: needed = false }: FieldProps) {
  const { properties = {}, required = [] } = schema;
  const fields = Object.entries(properties);
  const [only] = fields;
  if (fields.length === 1 && only !== undefined) {
    const [name, field] = only;
    // A reference is its name, and items of a batch are those in the manifest.
    const label = ["name", "inline"].includes(name) ? { label: labelOf(path).replace(/ ref$/, "") } : {};
    const isNeeded = needed && required.includes(name);
    return <Field form={form} schema={field} path={[...path, name]} required={isNeeded} {...label} />;
  }
  return (
    <fieldset>
      <legend>{labelOf(path)}</legend>
      {fields.map(([name, field]) => (
        <Field key={name} form={form} schema={field} path={[...path, name]} required={required.includes(name)} />
      ))}
    </fieldset>
  );
}

function Items({ form, schema, path }: FieldProps) {
  const { items = {} } = schema;
  const value = valueAt(form.draft, path);
  const count = Array.isArray(value) ? value.length : 0;
  const label = labelOf(path);
  return (
    <fieldset>
      <legend>{label}</legend>
      <p class="help">{schema.description}</p>
      {Array.from({ length: count }, (_, index) => (
        <div key={index} class="list-item">
          {Object.entries(items.properties ?? {}).map(([name, field]) => (
            <Field
              key={name}
              form={form}
              schema={field}
              path={[...path, index, name]}
              required={items.required?.includes(name) ?? false}
            />
          ))}
          <button type="button" class="wa-plain" onClick={() => form.set([...path, index], undefined)}>
            <Icon icon={Trash2} /> Remove {label} {index + 1}
          </button>
        </div>
      ))}
      <button type="button" class="wa-outlined" onClick={() => form.set([...path, count], {})}>
        <Icon icon={Plus} /> Add to {label}
      </button>
    </fieldset>
  );
}
