import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  characters,
  MARKERS_WELL_FORMED,
  markersWellFormed,
  pauseMarkerProblem,
} from "../../../src/api/v1alpha1/speech-text.ts";

describe("pause markers", () => {
  it.each(["", "plain", "a<#0.01#>b", "a<#99.99#>b", "a<#5#>b<#0.5#>c", "1 < 2 # 3 > 2", "a<b<#1.5#>c", "<"])(
    "%j is good",
    (text) => expect(pauseMarkerProblem(text)).toBeUndefined(),
  );

  it.each(["a<#0#>b", "a<#0.00#>b", "a<#0.001#>b", "a<#100#>b", "a<#.5#>b", "a<#1,5#>b", "a<#", "<#<#1#>#>"])(
    "%j is malformed",
    (text) => expect(pauseMarkerProblem(text)).toContain("from 0.01 to 99.99, at most two decimals"),
  );

  it.each(["a<#1#><#2#>b", "a<#1#>  <#2#>b", "a<#1#>\n\t<#2#>b"])("%j has two in a row", (text) =>
    expect(pauseMarkerProblem(text)).toContain("two pause markers in a row"),
  );

  it.each(["<#1#>", " <#1#> a", "a <#1#>", "a<#1#>\n"])("%j has one first or last", (text) =>
    expect(pauseMarkerProblem(text)).toContain("a pause marker first or last"),
  );

  it("the scanner and the expression of the CRD agree", () => {
    const piece = fc.constantFrom(
      "<",
      "#",
      ">",
      "0",
      "1",
      "9",
      ".",
      "a",
      "<#",
      "#>",
      "<#1.25#>",
      "<#0.01#>",
      "<#0.0#>",
    );
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
    const expression = new RegExp(MARKERS_WELL_FORMED, "u");
    fc.assert(
      fc.property(text, (sample) => {
        expect(markersWellFormed(sample)).toBe(expression.test(sample));
      }),
      { numRuns: 3000 },
    );
  });

  it("takes a text of a million characters in its stride", () => {
    expect(pauseMarkerProblem(`${"word < ".repeat(140_000)}<#1#>end`)).toBeUndefined();
  });
});

it("counts characters as the API server does: code points", () => {
  expect(characters("字🚢a")).toBe(3);
});
