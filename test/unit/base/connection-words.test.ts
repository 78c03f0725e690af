import { expect, it } from "vitest";
import { connectionWords } from "../../../src/base/connection-words.ts";

const failed = (message: string, fields: Record<string, unknown>) => Object.assign(new Error(message), fields);
const refused = (address: string) =>
  failed(`connect ECONNREFUSED ${address}:443`, { code: "ECONNREFUSED", syscall: "connect", address });

it.each([
  ["a refused connection", refused("10.1.2.3"), "connect ECONNREFUSED"],
  [
    "a connection to several addresses",
    new AggregateError([refused("10.1.2.3"), refused("10.1.2.4")]),
    "connect ECONNREFUSED",
  ],
  [
    "a connection that times out",
    failed("Connect Timeout Error (attempted addresses: 10.1.2.3:443, timeout: 10000ms)", {
      code: "UND_ERR_CONNECT_TIMEOUT",
    }),
    "the connection timed out",
  ],
  [
    "a certificate of another host",
    failed(
      "Hostname/IP does not match certificate's altnames: Host: a. is not in the cert's altnames: DNS:db.internal",
      {
        code: "ERR_TLS_CERT_ALTNAME_INVALID",
      },
    ),
    "the certificate is for another host",
  ],
  [
    "a name that does not resolve",
    failed("getaddrinfo ENOTFOUND db.internal", { code: "ENOTFOUND", syscall: "getaddrinfo", hostname: "db.internal" }),
    "getaddrinfo ENOTFOUND db.internal",
  ],
  ["an error without a message", failed("", { code: "EPIPE" }), "EPIPE"],
])("%s: the message does not tell what a name resolves to", (_name, error, words) => {
  expect(connectionWords(error)).toBe(words);
});
