/** A command that a new user types. `until`: it stays in the foreground, and the next one is typed in another terminal after this text. */
export type Step = { command: string; until?: RegExp };

export type Scenario = {
  /** Of its section in docs/reference/first-steps.md. */
  name: string;
  /** What a new user types, first to last. */
  steps: readonly Step[];
  /** What ends it, in any case. */
  cleanUp: readonly string[];
};

const WELCOME = 'say "Welcome aboard." --voice announcer -o welcome.mp3';

/** README, "Try it without a cluster". */
export const withoutCluster: Scenario = {
  name: "without a cluster",
  steps: [
    { command: "npm ci && npm run demo -- --keep", until: /^Everything stays up until Ctrl-C/m },
    { command: "kubectl get mooring" },
    { command: `mooring ${WELCOME}` },
    { command: "ls -l welcome.mp3" },
  ],
  cleanUp: [],
};

const RELEASE_IMAGE = "ghcr.io/mooring-dev/mooring:0.1.0";
const RESULT = "/api/v1/namespaces/mooring-system/services/mooring-simulator:8090/proxy";

/** README, "Install", and docs/how-to/install.md, "From a checkout". `LOAD_IMAGE` is the command that loads an image into the nodes. */
export const inCluster = (dockerArguments: string): Scenario => ({
  name: "in a cluster",
  steps: [
    { command: `npm ci && npm run release:dry${dockerArguments}` },
    { command: `$LOAD_IMAGE ${RELEASE_IMAGE}` },
    {
      command:
        "helm install mooring charts/mooring --namespace mooring-system --create-namespace --set simulator.enabled=true --wait",
    },
    { command: "kubectl apply -f examples/" },
    { command: "kubectl wait --for=condition=Ready gpuendpoint/minimal --timeout=60s" },
    { command: "kubectl get mooring" },
    { command: "kubectl wait --for=condition=Complete speechjob/announcement --timeout=60s" },
    {
      command: `URL=$(kubectl get speechjob announcement -o 'jsonpath={.status.results[0].url}') && kubectl get --raw "${RESULT}\${URL#http://*:8090}" > announcement.mp3`,
    },
    { command: "ls -l announcement.mp3" },
    { command: "helm test mooring --namespace mooring-system" },
  ],
  cleanUp: [
    "helm uninstall mooring --namespace mooring-system --wait --ignore-not-found",
    "kubectl delete crd -l app.kubernetes.io/part-of=mooring --ignore-not-found",
    "kubectl delete secret chat-tokens --ignore-not-found",
    "kubectl delete configmap chat-settings --ignore-not-found",
    "kubectl delete namespace mooring-system --ignore-not-found",
  ],
});
