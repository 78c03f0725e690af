import { styleText } from "node:util";
import type { Command } from "commander";
import { systemClock } from "../../base/clock.ts";
import { oneLine } from "../../base/manifest-yaml.ts";
import { createKubeClient } from "../../kube/client.ts";
import { loadCredentials } from "../../kube/credentials.ts";
import {
  addClusterOptions,
  addServiceOptions,
  assertNamespace,
  readKey,
  type ServiceFlags,
} from "../account-source.ts";
import { connectDirectly } from "../connect-account.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { checkAccounts, checkKinds, checkRights, checkServer, checkService, type Finding } from "./doctor/checks.ts";
import { checkOperator } from "./doctor/operator.ts";

const HELP = `
Prints one line per check: ok, warn or bad, and what to do. An account is ok if the service takes its key and the operator
reports no problem. Requests the limits of each account, which costs nothing. Changes nothing.
With --base-url it needs no cluster: it checks only whether a service takes a key and lists endpoints, which is free.

Examples:
  mooring doctor
  mooring doctor -n team-a
  mooring doctor --base-url https://api.example.com --api-key-file key.txt

`;

/** `mooring doctor`: whether Mooring can work here. */
export function registerDoctorCommand(program: Command): void {
  const command = program
    .command("doctor")
    .description("check the cluster, the kinds, the operator, the accounts and your rights");
  addServiceOptions(addClusterOptions(command, "check only this namespace; default: all"))
    .addHelpText("after", HELP + exitCodesHelp("doctor"))
    .action(async (flags: ServiceFlags) => {
      process.exitCode = await run(flags);
    });
}

async function run(flags: ServiceFlags): Promise<number> {
  const { kubeconfig, namespace, baseUrl } = flags;
  if (baseUrl !== undefined) {
    const key = await readKey(flags, process.env);
    return tell(await checkService((generation) => connectDirectly(baseUrl, key, generation))) ? 1 : 0;
  }
  const credentials = await loadCredentials({ kubeconfig, env: process.env });
  const kube = createKubeClient(credentials);
  try {
    const server = await checkServer(kube, credentials.server);
    if (tell([server])) return 1; // everything else would fail for the same reason
    if (namespace !== undefined) await assertNamespace(kube, namespace);
    const bad = [
      tell(await checkKinds(kube)),
      tell(await checkOperator(kube, systemClock)),
      tell(await checkAccounts(kube, namespace)),
      tell(await checkRights(kube, namespace)),
    ];
    return bad.includes(true) ? 1 : 0;
  } finally {
    await kube.close();
  }
}

const COLORS = { ok: "green", warn: "yellow", bad: "red" } as const;

/** Returns whether something is bad. */
function tell(findings: readonly Finding[]): boolean {
  for (const { level, message } of findings) {
    // Without colors unless standard output is a terminal and NO_COLOR is not set.
    const word = styleText(COLORS[level], level.padEnd(4), { stream: process.stdout });
    process.stdout.write(`${word}  ${oneLine(message)}\n`);
  }
  return findings.some(({ level }) => level === "bad");
}
