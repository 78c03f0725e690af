import { expect } from "vitest";
import { kubectlInNamespace } from "./kubectl.ts";

/** Service accounts in a namespace of their own, with tokens of the API server. Call it at the top of the file. */
export function serviceAccounts(prefix: string) {
  const { namespace, kubectl } = kubectlInNamespace(prefix);
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await kubectl(args);
    expect(code, stderr).toBe(0); // warnings are kubectl's own
    return stdout.trim();
  };
  return {
    namespace,
    kubectl: run,
    /** Makes the service account, and asks for a token of it (TokenRequest). */
    async token(name: string): Promise<string> {
      await run("create", "serviceaccount", name);
      return run("create", "token", name);
    },
  };
}
