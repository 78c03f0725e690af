import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ArtifactError, type ArtifactErrorKind } from "../../../../src/artifacts/errors.ts";
import { probeVerdict } from "../../../../src/controllers/artifact-store/status.ts";
import { STORE_STATES, storeAfter } from "../../../support/golden/stores.ts";
import { contractBreach, shows } from "../../../support/kstatus.ts";

describe("a store", () => {
  it.each(STORE_STATES)("%s", (_name, before, outcome, expected) => {
    const after = storeAfter(before, outcome);
    expect(shows(after)).toBe(expected);
    expect(contractBreach(after.status.conditions)).toBe("");
  });

  it("does not change when nothing did", () => {
    for (const [, before, outcome] of STORE_STATES) {
      const { status } = storeAfter(before, outcome);
      expect(storeAfter(status, outcome).status).toEqual(status);
    }
  });
});

it("a probe that fails has the same message each time, although it writes another key", () => {
  const messages = ["Denied", "StoreUnreachable"].flatMap((kind) =>
    [randomUUID(), randomUUID()].map((id) => {
      const error = new ArtifactError(
        kind as ArtifactErrorKind,
        `s3://media/.mooring-probe-${id}: AccessDenied (HTTP 403)`,
      );
      const verdict = probeVerdict(error, false);
      return "message" in verdict ? verdict.message : "";
    }),
  );
  expect(new Set(messages)).toEqual(new Set(["s3://media/.mooring-probe-*: AccessDenied (HTTP 403)"]));
});
