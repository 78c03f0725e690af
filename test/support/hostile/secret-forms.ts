const hex = (code: number, digits: number) => code.toString(16).padStart(digits, "0");

/** The forms in which a service can quote a secret. */
export const SECRET_FORMS: [name: string, quote: (secret: string) => string][] = [
  ["as it is", (secret) => secret],
  ["in upper case", (secret) => secret.toUpperCase()],
  ["in lower case", (secret) => secret.toLowerCase()],
  ["as base64", (secret) => Buffer.from(secret).toString("base64")],
  ["as base64url", (secret) => Buffer.from(secret).toString("base64url")],
  ["as base64 of a header", (secret) => Buffer.from(`authorization: Bearer ${secret} and more`).toString("base64")],
  ["as base64 in lines", (secret) => Buffer.from(`ab${secret}`).toString("base64").replace(/.{8}/g, "$&\n")],
  ["as hex", (secret) => Buffer.from(secret).toString("hex")],
  ["URL-encoded", (secret) => encodeURIComponent(secret)],
  ["URL-encoded in every character", (secret) => [...Buffer.from(secret)].map((byte) => `%${hex(byte, 2)}`).join("")],
  ["as a form", (secret) => new URLSearchParams({ v: secret }).toString()],
  ["JSON-escaped", (secret) => JSON.stringify(secret)],
  [
    "JSON-escaped in every character",
    (secret) => [...secret].map((letter) => `\\u${hex(letter.charCodeAt(0), 4)}`).join(""),
  ],
  ["with invisible characters in between", (secret) => [...secret].join("\u200b")],
  ["with bells in between", (secret) => [...secret].join("\u0007")],
  ["over lines", (secret) => [...secret].join("\n")],
];
