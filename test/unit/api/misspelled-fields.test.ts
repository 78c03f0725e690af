import { describe, expect, test } from "vitest";
import { closestName, manifestProblems } from "../../../src/api/manifest/manifest-problems.ts";
import { manifest, type Variant } from "../../support/manifests.ts";

describe("the name that was probably meant", () => {
  const known = ["clusterID", "healthCheck", "image", "port", "products", "workers", "min", "max"];

  test.each([
    { written: "clusterId", meant: "clusterID", because: "the case differs" },
    { written: "imgae", meant: "image", because: "two letters changed places" },
    { written: "wokers", meant: "workers", because: "a letter is missing" },
    { written: "product", meant: "products", because: "the plural is missing" },
    { written: "healthcheck", meant: "healthCheck", because: "the case differs" },
    { written: "health_check", meant: "healthCheck", because: "words are joined in another way" },
    { written: "health-chek", meant: "healthCheck", because: "both" },
    { written: "replicas", meant: undefined, because: "no name is close" },
    { written: "mix", meant: undefined, because: "a short name is close to many" },
  ])("$written: $because", ({ written, meant }) => expect(closestName(written, known)).toBe(meant));
});

describe("mooring validate", () => {
  const messages = (variant: Variant, change: (object: Record<string, unknown>) => Record<string, unknown>) =>
    (manifestProblems(change(manifest(variant))) ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);

  test.each<{ variant: Variant; field: string; misspelled: string }>([
    { variant: "endpoint", field: "healthCheck", misspelled: "healtCheck" },
    { variant: "turbo", field: "voiceSetting", misspelled: "voiceSettings" },
    { variant: "account", field: "apiKeySecretRef", misspelled: "apiKeySecret" },
    { variant: "image", field: "imageToVideo", misspelled: "image2Video" },
  ])("says that $misspelled may mean $field", ({ variant, field, misspelled }) => {
    const found = messages(variant, (object) => {
      const { [field]: value, ...rest } = object["spec"] as Record<string, unknown>;
      return { ...object, spec: { ...rest, [misspelled]: value } };
    });
    expect(found).toContain(`spec.${misspelled}: unknown field: did you mean ${field}?`);
  });

  test("says it of a field beside spec", () => {
    expect(messages("endpoint", (object) => ({ ...object, specs: {} }))).toContain(
      "specs: unknown field: did you mean spec?",
    );
  });

  test("names no field when none is close", () => {
    expect(messages("endpoint", (object) => ({ ...object, extra: 1 }))).toContain("extra: unknown field");
  });

  test("says it of a kind", () => {
    const [problem] = messages("endpoint", (object) => ({ ...object, kind: "GPUEndpoint" }));
    expect(problem).toContain('there is no kind "GPUEndpoint": did you mean GpuEndpoint?');
  });
});
