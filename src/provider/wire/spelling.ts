import { isRecord } from "../../base/own-value.ts";

/**
 * The parameters of a request in the service's spelling: `imageURL` is `image_url`. Fields that are undefined are not sent, so the
 * service's defaults apply. The entries of `tone` are free-form and stay as they are.
 */
export function spelled(parameters: object): object {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [
      name.replace(/[A-Z]+/g, (capitals) => `_${capitals.toLowerCase()}`),
      name === "tone" ? value : spelledValue(value),
    ]),
  );
}

function spelledValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(spelledValue);
  return isRecord(value) ? spelled(value) : value;
}
