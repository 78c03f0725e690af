import { describe, expect, it } from "vitest";
import { manifestProblems } from "../../../src/api/manifest/manifest-problems.ts";
import { type Change, manifest, type Variant } from "../../support/manifests.ts";

const problems = (variant: Variant, change: Change) =>
  (manifestProblems(manifest(variant, change)) ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);

describe("a manifest with a wrong value", () => {
  it.each<{ variant: Variant; change: Change; problem: string }>([
    {
      variant: "endpoint",
      change: { workers: { min: "1" } },
      problem: 'spec.workers.min: must be a number, not "1": write it without quotes',
    },
    {
      variant: "endpoint",
      change: { workers: { max: 2.5 } },
      problem: "spec.workers.max: must be a whole number, not 2.5",
    },
    { variant: "endpoint", change: { image: 5 }, problem: "spec.image: must be a string, not 5: write it in quotes" },
    { variant: "endpoint", change: { products: [] }, problem: "spec.products: must have at least 1 item" },
    { variant: "endpoint", change: { suspend: "yes" }, problem: 'spec.suspend: must be true or false, not "yes"' },
    {
      variant: "endpoint",
      change: { healthCheck: "/" },
      problem: 'spec.healthCheck: must be an object with fields, not "/"',
    },
    { variant: "hd", change: { backoffLimit: 11 }, problem: "spec.backoffLimit: must be at most 10, not 11" },
    {
      variant: "hd",
      change: { model: "x".repeat(80) },
      problem: "spec.model: must be one of speech-2.6-turbo, speech-2.6-hd, not 80 characters",
    },
    {
      variant: "hd",
      change: { model: null },
      problem: "spec.model: is missing: write one of speech-2.6-turbo, speech-2.6-hd",
    },
    { variant: "endpoint", change: { image: null }, problem: "spec.image: is missing" },
  ])("$problem", ({ variant, change, problem }) => expect(problems(variant, change)).toContain(problem));

  it("does not show the value of a variable", () => {
    expect(problems("endpoint", { env: [{ name: "TOKEN", value: 123_456 }] })).toEqual([
      "spec.env.0.value: must be a string: write it in quotes",
    ]);
  });
});
