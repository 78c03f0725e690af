import { join } from "node:path";

/** Everything in one folder: paths of what is generated, and the two ports. */
export type Layout = { dir: string; etcdPort: number; apiserverPort: number };

/** Files inside the folder of a control plane. */
export function files(dir: string): Record<"certificate" | "tokens" | "serviceAccountKey" | "kubeconfig", string> {
  return {
    // kube-apiserver makes it itself: the serving certificate followed by the authority that signed it.
    certificate: join(dir, "certificates", "apiserver.crt"),
    tokens: join(dir, "tokens.csv"),
    serviceAccountKey: join(dir, "service-account.key"),
    kubeconfig: join(dir, "kubeconfig"),
  };
}

/** Nothing survives the folder, so nothing waits for the disk. */
export function etcdArguments({ dir, etcdPort }: Layout): string[] {
  return [
    `--data-dir=${join(dir, "etcd")}`,
    `--listen-client-urls=http://127.0.0.1:${etcdPort}`,
    `--advertise-client-urls=http://127.0.0.1:${etcdPort}`,
    "--listen-peer-urls=http://127.0.0.1:0",
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
}

/**
 * As controller-runtime's envtest starts it, but with service accounts where something makes them (`serviceAccounts`), and no
 * endpoint of its own in the cluster: no pod could reach 127.0.0.1.
 */
export function apiserverArguments(
  { dir, etcdPort, apiserverPort }: Layout,
  { serviceAccounts }: { serviceAccounts: boolean },
): string[] {
  const { tokens, serviceAccountKey } = files(dir);
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    `--secure-port=${apiserverPort}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    `--cert-dir=${join(dir, "certificates")}`,
    `--token-auth-file=${tokens}`,
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--allow-privileged=true",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${serviceAccountKey}`,
    `--service-account-signing-key-file=${serviceAccountKey}`,
    ...(serviceAccounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
  ];
}

/** Each controller with its own service account and RBAC, as in a real cluster; serves nothing itself. */
export function controllerManagerArguments({ dir }: Layout): string[] {
  const { kubeconfig, serviceAccountKey, certificate } = files(dir);
  return [
    `--kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--use-service-account-credentials=true",
    // At its usual 20 calls a second it takes 4 s to make its controllers' service accounts.
    "--kube-api-qps=1000",
    "--kube-api-burst=2000",
    // Tests delete many namespaces at the same time; with its usual 10, one can wait for more than a minute.
    "--concurrent-namespace-syncs=50",
    `--service-account-private-key-file=${serviceAccountKey}`,
    `--root-ca-file=${certificate}`,
    // Otherwise it makes a folder under /usr.
    `--flex-volume-plugin-dir=${join(dir, "flexvolume")}`,
  ];
}
