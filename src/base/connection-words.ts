/** Errors of connections whose message shows an address or the name in a certificate. */
const OWN_WORDS: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: "the connection timed out",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host",
};

/**
 * Why a connection failed, for readers who may not see the network: a message must not show which address a name resolves
 * to. A connection that was tried on several addresses fails with all their errors at once, and with an empty message.
 */
export function connectionWords(error: unknown): string {
  const parts: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return [...new Set(parts.map(partWords))].join("; ");
}

function partWords(part: unknown): string {
  if (!(part instanceof Error)) return String(part);
  const code = codeOf(part);
  if ("address" in part && "syscall" in part) return `${String(part.syscall)} ${code}`;
  const own = Object.hasOwn(OWN_WORDS, code) ? OWN_WORDS[code] : undefined;
  return own ?? (part.message || code || part.name);
}

/** The code of an error of Node or undici; "" for any other value. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
