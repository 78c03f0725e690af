import { expect, it } from "vitest";
import { languages, sharedLanguages } from "../../../src/api/v1alpha1/speech-languages.ts";
import { LANGUAGES_HD, LANGUAGES_TURBO } from "../../../src/provider/wire/speech.ts";

it("the languages of the API are those of the operations, model by model", () => {
  expect([...languages].sort()).toEqual([...LANGUAGES_TURBO].sort());
  expect([...sharedLanguages].sort()).toEqual([...LANGUAGES_HD].sort());
});
