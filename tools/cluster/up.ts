// One control plane in the foreground: `node tools/cluster/up.ts`. Ctrl-C stops it.
import { startControlPlane } from "./control-plane.ts";

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => interrupted.abort(new Error(`stopped by ${signal}`)));
}

try {
  const controlPlane = await startControlPlane({ signal: interrupted.signal });
  console.log(`export KUBECONFIG=${controlPlane.kubeconfig}`);
  console.log(`kubectl: ${controlPlane.kubectl}`);
  console.log("Ctrl-C stops it.");
  // Nothing else keeps the process alive when the cluster is somebody else's.
  const alive = setInterval(() => undefined, 60_000);
  await new Promise((resolve) => interrupted.signal.addEventListener("abort", resolve, { once: true }));
  clearInterval(alive);
  await controlPlane.stop();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
