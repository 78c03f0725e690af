import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ABSENT, type BodyOperation, changed, MAXIMAL } from "../requests.ts";
import { type Bench, startBench } from "../start.ts";

/** A rule of the interface document for a field of a body: what the service refuses, and what it accepts at the edge. */
export type Rule = {
  operation: BodyOperation;
  field: string;
  rule: string;
  refused: unknown[];
  accepted?: unknown[];
  /** Changes to the maximal request that the rule needs. */
  given?: Record<string, unknown>;
};

export const letters = (count: number) => "x".repeat(count);
export const ships = (count: number) => "🚢".repeat(count);
/** Refused as a string, an integer, a boolean or an object. */
export const NO_STRING = [null, 1, true, {}];
export const NO_INTEGER = [null, "1", 1.5, true];
export const NO_NUMBER = [null, "1", true];
export const NO_BOOLEAN = [null, "true", 1];
export const NO_OBJECT = [null, "x", []];
export const NO_LIST = [null, "x", {}];

/** A rule for several operations, each with the path of its parameters. */
export const inEach = (operations: [BodyOperation, prefix: string][], rules: Omit<Rule, "operation">[]): Rule[] =>
  operations.flatMap(([operation, prefix]) =>
    rules.map((rule) => ({ ...rule, operation, field: `${prefix}${rule.field}` })),
  );
export const fields = (names: string[], rule: Omit<Rule, "operation" | "field">) =>
  names.map((field) => ({ field, ...rule }));

const PATHS: Record<BodyOperation, string> = {
  createEndpoint: "/gpu-instance/openapi/v1/endpoint/create",
  updateEndpoint: "/gpu-instance/openapi/v1/endpoint/update",
  synthesizeSpeech: "/v3/vendor-speech-2.6-turbo",
  submitSpeech: "/v3/async/vendor-speech-2.6-hd",
  submitImageToVideo: "/v3/async/vid-i2v",
  submitVideoToVideo: "/v3/async/vid2.6-v2v",
};

let bench: Bench;
let endpointID = "";
function bodyOf({ operation, field, given = {} }: Rule, value: unknown): object {
  const maximal = operation === "updateEndpoint" ? { ...MAXIMAL.updateEndpoint, id: endpointID } : MAXIMAL[operation];
  const base = Object.entries(given).reduce<object>((body, [path, other]) => changed(body, path, other), maximal);
  return changed(base, field, value);
}

/** Tests that the simulator refuses what the document does not allow, and nothing else. */
export function testRules(rules: readonly Rule[]): void {
  beforeAll(async () => {
    bench = await startBench({ timeScale: 0, duplicateAppName: "Accept", maxAudioSeconds: 0.2 });
    endpointID = (await bench.client.createEndpoint(MAXIMAL.createEndpoint.endpoint)).id;
  });
  afterAll(() => bench.close());

  describe.each(rules)("$operation $field: $rule", (rule) => {
    const title = (value: unknown) => (value === ABSENT ? "no value" : (JSON.stringify(value) ?? "").slice(0, 60));

    it.each(rule.refused.map((value) => ({ value, title: title(value) })))("refuses $title", async ({ value }) => {
      const body = bodyOf(rule, value);
      const { status, json } = await bench.ask(PATHS[rule.operation], body);
      expect({ status, reason: json["reason"] }).toEqual({ status: 400, reason: "INVALID_REQUEST_PARAMETER" });
    });

    it.each((rule.accepted ?? []).map((value) => ({ value, title: title(value) })))(
      "accepts $title",
      async ({ value }) => {
        const body = bodyOf(rule, value);
        expect(await bench.ask(PATHS[rule.operation], body)).toMatchObject({ status: 200 });
      },
    );
  });
}
