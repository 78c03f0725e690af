import { binariesIn, complete, findProgram, pathFolders, programNames } from "../binaries.ts";
import { nothing, type Provider } from "../provider.ts";

/** `KUBEBUILDER_ASSETS`, as controller-runtime's envtest reads it; what else is needed may be on PATH. */
export const assets: Provider = {
  name: "assets",
  find: async ({ env }) => {
    const folder = env.KUBEBUILDER_ASSETS;
    if (folder === undefined || folder === "") {
      return nothing("KUBEBUILDER_ASSETS is not set");
    }
    const binaries = await binariesIn(folder);
    if (binaries === undefined) {
      throw new Error(
        `KUBEBUILDER_ASSETS=${folder}: no ${programNames.etcd} or no ${programNames.apiserver} in it; unset it to use another source`,
      );
    }
    const onPath = pathFolders(env.PATH);
    const controllerManager = await findProgram(programNames.controllerManager, onPath);
    return { kind: "binaries", binaries: complete(binaries, { controllerManager }) };
  },
};
