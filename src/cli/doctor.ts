import type { Command } from "commander";
import { createKubeClient } from "../kube/client.ts";
import { loadCredentials } from "../kube/credentials.ts";
import { addClusterOptions, type ClusterFlags } from "./account-source.ts";
import { checkAccounts, checkKinds, checkRights, checkServer, type Finding } from "./doctor-checks.ts";
import { oneLine } from "./import/yaml.ts";

const HELP = `
Prints one line per check: ok, warn or bad, and what to do. Requests the limits of each account, which costs nothing.
Changes nothing. Exit codes: 0 no check is bad; 1 a check is bad.`;

/** `mooring doctor`: whether Mooring can work here. */
export function registerDoctorCommand(program: Command): void {
  const command = program.command("doctor").description("check the cluster, the kinds, the accounts and your rights");
  addClusterOptions(command, "check only this namespace; default: all")
    .addHelpText("after", HELP)
    .action(async (flags: ClusterFlags) => {
      process.exitCode = await run(flags);
    });
}

async function run({ kubeconfig, namespace }: ClusterFlags): Promise<number> {
  const credentials = await loadCredentials({ kubeconfig, env: process.env });
  const kube = createKubeClient(credentials);
  try {
    const server = await checkServer(kube, credentials.server);
    if (tell([server])) return 1; // everything else would fail for the same reason
    const bad = [
      tell(await checkKinds(kube)),
      tell(await checkAccounts(kube, namespace)),
      tell(await checkRights(kube, namespace)),
    ];
    return bad.includes(true) ? 1 : 0;
  } finally {
    await kube.close();
  }
}

/** Returns whether something is bad. */
function tell(findings: readonly Finding[]): boolean {
  for (const { level, message } of findings) process.stdout.write(`${level.padEnd(4)}  ${oneLine(message)}\n`);
  return findings.some(({ level }) => level === "bad");
}
