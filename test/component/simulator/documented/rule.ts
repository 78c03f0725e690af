import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collect, failure } from "../../provider/http/make-client.ts";
import { ABSENT, type BodyOperation, changed, MAXIMAL } from "../requests.ts";
import { type Bench, startBench } from "../start.ts";

/** A rule of the interface document for a field of a body: what the service refuses, and what it accepts at the edge. */
export type Rule = {
  operation: BodyOperation;
  field: string;
  rule: string;
  refused: unknown[];
  accepted?: unknown[];
  /**
   * `service`: only the service can check the rule, so the client sends what is refused.
   * `client`: the document leaves the rule open, and the client does not send what the service accepts here.
   */
  checkedBy?: "service" | "client";
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

/** What the client makes of a body. It is called as if it had no types, as from a manifest that no schema checked. */
function sendByClient({ operation }: Rule, body: object): Promise<unknown> {
  const streamed = operation === "synthesizeSpeech" && Reflect.get(body, "stream") === true;
  if (streamed) return collect(Reflect.apply(bench.client.streamSpeech, undefined, [body]));
  const input = operation === "createEndpoint" ? Reflect.get(body, "endpoint") : body;
  return Reflect.apply(bench.client[operation], undefined, [input, {}, async () => {}]);
}

/** Tests that two readings of the document agree on every rule: the simulator's and the client's. */
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
      if (rule.checkedBy === "service") return;
      expect(await failure(sendByClient(rule, body))).toMatchObject({ kind: "InvalidRequest", delivery: "NotSent" });
    });

    it.each((rule.accepted ?? []).map((value) => ({ value, title: title(value) })))(
      "accepts $title",
      async ({ value }) => {
        const body = bodyOf(rule, value);
        expect(await bench.ask(PATHS[rule.operation], body)).toMatchObject({ status: 200 });
        const sent = sendByClient(rule, body);
        if (rule.checkedBy !== "client") return void (await sent);
        expect(await failure(sent)).toMatchObject({ kind: "InvalidRequest", delivery: "NotSent" });
      },
    );
  });
}
