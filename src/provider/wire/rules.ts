import * as z from "zod";

/** Rules that several request schemas share. */

/** A string whose length is counted in characters (code points), as the interface's limits are. */
export const characters = (min: number, max: number) =>
  z.string().refine(
    (text) => {
      // Code units bound code points from both sides, so the exact count is needed only in between.
      if (text.length < min || text.length > max * 2) return false;
      if (text.length <= max && text.length >= min * 2) return true;
      const count = [...text].length;
      return count >= min && count <= max;
    },
    { error: `must have ${min} to ${max} characters` },
  );

/** A string of digits or an integer, spelled as a string on the wire. */
export const integerText = z
  .union([z.string().regex(/^\d{1,9}$/, "must be an integer as a string"), z.int().min(0)])
  .transform(String);
