import type { BillReport } from "../../api/v1alpha1/bill-report.ts";
import { billReportResource } from "../../api/v1alpha1/kinds.ts";
import { artifactKey } from "../../artifacts/key.ts";
import type { ArtifactStoreHandle } from "../../artifacts/types.ts";
import { isForbidden } from "../../kube/errors.ts";
import { configMapResource } from "../../submission/journal.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { CONFIG_MAP_BYTES, NotOwnedError, writeOwnedConfigMap } from "../owned-config-map.ts";
import { howToGrant } from "../permissions.ts";
import type { Exported } from "./status.ts";

type Output = NonNullable<BillReport["spec"]["output"]>;
type Target = NonNullable<BillReport["spec"]["exportTo"]>["configMap"];

/**
 * Writes a file into the report's ConfigMap, when it fits; all of it is read in any case, so that the size can be told.
 * @throws whatever reading the file throws; KubeError
 */
export async function exportToConfigMap(
  shared: Pick<ControllerDeps, "kube">,
  report: BillReport,
  { name, format }: Target,
  file: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<Exported> {
  const parts: string[] = [];
  let bytes = 0;
  for await (const part of file) {
    bytes += Buffer.byteLength(part);
    if (bytes <= CONFIG_MAP_BYTES) parts.push(part);
    else parts.length = 0;
  }
  if (bytes > CONFIG_MAP_BYTES) {
    return {
      kind: "Refused",
      reason: "ExportTooLarge",
      message: `the ${format} has ${bytes} bytes, and a ConfigMap takes ${CONFIG_MAP_BYTES}: shorten the period, choose a longer cycle, set category or productName, or use output.storeRef`,
    };
  }
  const owner = { resource: billReportResource, object: report };
  try {
    await writeOwnedConfigMap(shared.kube, owner, name, { [`bills.${format.toLowerCase()}`]: parts.join("") }, signal);
  } catch (error) {
    if (error instanceof NotOwnedError) return { kind: "Refused", reason: "ExportConflict", message: error.message };
    if (!isForbidden(error)) throw error;
    const { namespace } = report.metadata;
    const grant = howToGrant(configMapResource, namespace, "get, create and patch", "rbac.exportNamespaces.configMaps");
    const message = `exportTo.configMap: the operator may not write ConfigMap ${namespace}/${name}: ${grant}, or use output.storeRef`;
    return { kind: "Refused", reason: "ExportForbidden", message };
  }
  return { kind: "Written", export: { configMap: name, format, bytes } };
}

/**
 * Writes a file into an ArtifactStore as it comes, in place of the one before; what is broken off leaves that one standing.
 * @throws whatever reading the file throws; ArtifactError
 */
export async function exportToStore(
  store: Pick<ArtifactStoreHandle, "writer">,
  report: BillReport,
  { prefix, format }: Output,
  file: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<Exported> {
  const { namespace, name, uid } = report.metadata;
  const { kind } = billReportResource;
  const key = artifactKey({ prefix, namespace, kind, name, uid, index: 0, type: format });
  const writer = await store.writer(key, { signal });
  try {
    for await (const part of file) await writer.write(Buffer.from(part));
    return { kind: "Written", export: { ...(await writer.commit()), format } };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}
