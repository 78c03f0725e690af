import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** PEM texts. */
export type Certificate = { cert: string; key: string };

/** A certificate authority of a test, made with the openssl program: Node cannot sign certificates. */
export type Authority = {
  cert: string;
  /** A certificate for a server (with names, such as `DNS:api.test` or `IP:127.0.0.1`) or a client. */
  issue(commonName: string, names?: readonly string[]): Promise<Certificate>;
};

export async function createAuthority(folder: string): Promise<Authority> {
  const caKey = join(folder, "authority.key");
  const caCert = join(folder, "authority.crt");
  const request = ["req", "-x509", ...NEW_KEY, "-subj", "/CN=authority", "-days", "1"];
  await run("openssl", [...request, "-keyout", caKey, "-out", caCert]);
  let issued = 0;
  return {
    cert: await readFile(caCert, "utf8"),
    async issue(commonName, names = []) {
      const path = join(folder, `issued-${++issued}`);
      await run("openssl", [
        ...["req", "-new", ...NEW_KEY, "-subj", `/CN=${commonName}`],
        ...["-keyout", `${path}.key`, "-out", `${path}.csr`],
      ]);
      await writeFile(`${path}.ext`, names.length === 0 ? "" : `subjectAltName=${names.join(",")}\n`);
      await run("openssl", [
        ...["x509", "-req", "-in", `${path}.csr`, "-out", `${path}.crt`, "-days", "1", "-extfile", `${path}.ext`],
        ...["-CA", caCert, "-CAkey", caKey, "-set_serial", String(issued)],
      ]);
      return { cert: await readFile(`${path}.crt`, "utf8"), key: await readFile(`${path}.key`, "utf8") };
    },
  };
}
