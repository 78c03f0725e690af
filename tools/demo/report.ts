import { basename, dirname } from "node:path";
import type { Row } from "./rows.ts";
import type { Stack } from "./stack.ts";

/** Which objects are not as their manifests say, and why. */
export function failureLines(missing: readonly Row[], timeoutSeconds: number): string[] {
  const reason = missing.every(({ stalled }) => stalled) ? "need a person" : `not there after ${timeoutSeconds} s`;
  return [
    `FAILED: ${missing.length} ${missing.length === 1 ? "object" : "objects"} ${reason}`,
    ...missing.map((row) => `  ${row.kind}/${row.name}: ${stateOf(row)}`),
  ];
}

function stateOf({ state, ready, reason, message }: Row): string {
  if (ready === "-") return "the operator has not reconciled it yet";
  return `${state}, Ready=${ready}, ${reason}: ${message}`;
}

/** What to type in another terminal while everything runs. */
export function lookAroundLines({ controlPlane, namespace, simulator, metrics, logs, account }: Stack): string[] {
  const { kubectl, kubeconfig } = controlPlane;
  const onPath = (process.env.PATH ?? "").split(":").includes(dirname(kubectl)) && basename(kubectl) === "kubectl";
  const inNamespace = namespace === "default" ? "" : ` -n ${namespace}`;
  return [
    "Everything stays up until Ctrl-C. In another terminal:",
    `  export KUBECONFIG=${kubeconfig} PATH="$PWD/bin:$PATH"`,
    ...(onPath ? [] : [`  alias kubectl=${kubectl}`]),
    `  kubectl get mooring${inNamespace}`,
    `  mooring say "Welcome aboard." --voice announcer -o welcome.mp3${inNamespace}`,
    "  mooring ui --allow-private-networks    # the flag plays results of this machine",
    `  mooring status${inNamespace} -o wide    # with costs`,
    `  kubectl get ${account} -o wide${inNamespace}    # with the spending of the month`,
    `  kubectl describe gpuep minimal${inNamespace}`,
    `  kubectl patch gpuep minimal${inNamespace} --type=merge -p '{"spec":{"workers":{"max":5}}}'`,
    `  kubectl delete gpuep scratch${inNamespace}`,
    `  curl -s ${simulator}/__audit/counts    # what the service was asked; /__state is what it has`,
    `  curl -s ${metrics} | grep ^mooring_`,
    `  tail -f ${logs}/operator.log`,
    "The URLs above can be opened in a browser meanwhile.",
  ];
}

/** After somebody stopped the operator: everything else stays. */
export function operatorEndedLines({ operatorCommand }: Stack, reason: string): string[] {
  return [
    "",
    `${reason}. Everything else stays up. To start the operator again, in another terminal:`,
    `  ${operatorCommand}`,
  ];
}
