import type { BillReport } from "../../../api/v1alpha1/bill-report.ts";
import { billReportResource } from "../../../api/v1alpha1/kinds.ts";
import { artifactKey } from "../../../artifacts/key.ts";
import type { ArtifactStoreHandle } from "../../../artifacts/types.ts";
import { findObject, type KubeClient } from "../../../kube/client.ts";
import { isAlreadyExists, isForbidden } from "../../../kube/errors.ts";
import { mergePatchOf } from "../../../kube/patch.ts";
import { configMapResource, controllerReference } from "../../../kube/resource.ts";
import type { KubeObject, OwnerReference } from "../../../kube/types.ts";
import { howToGrant } from "../../references.ts";
import type { ExportEnd } from "./status.ts";

type ReportOutput = NonNullable<BillReport["spec"]["output"]>;
type ExportTarget = NonNullable<BillReport["spec"]["exportTo"]>["configMap"];
type ConfigMap = KubeObject & { data?: Record<string, string> };

/** The file of a report. `content` is read once. */
export type ReportFile = { report: BillReport; content: AsyncIterable<string>; signal: AbortSignal };

/** Most bytes of all values of a ConfigMap. */
const CONFIG_MAP_BYTES = 1_048_576;

/**
 * Writes a file into the report's ConfigMap if it fits. Always reads all of it, so that a message can show the size.
 * @throws the error of reading the file; KubeError
 */
export async function exportToConfigMap(
  kube: KubeClient,
  { report, content, signal }: ReportFile,
  { name, format }: ExportTarget,
): Promise<ExportEnd> {
  const parts: string[] = [];
  let bytes = 0;
  for await (const part of content) {
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
  const { namespace } = report.metadata;
  const data = { [`bills.${format.toLowerCase()}`]: parts.join("") };
  const wanted = ownedConfigMap(controllerReference(billReportResource, report.metadata), { namespace, name, data });
  try {
    if (await writeConfigMap(kube, wanted, signal)) {
      return { kind: "Written", export: { configMap: name, format, bytes } };
    }
    const message = `ConfigMap ${namespace}/${name} exists and does not belong to BillReport ${namespace}/${report.metadata.name}: delete it, or choose another name`;
    return { kind: "Refused", reason: "ExportConflict", message };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const message = `exportTo.configMap: ${mayNotWrite(namespace, name)}, or use output.storeRef`;
    return { kind: "Refused", reason: "ExportForbidden", message };
  }
}

/** A ConfigMap that an object of Mooring owns, as it is to be. */
export type OwnedConfigMap = ConfigMap & {
  metadata: {
    namespace: string;
    name: string;
    ownerReferences: NonNullable<KubeObject["metadata"]["ownerReferences"]>;
  };
  data: Record<string, string>;
};

/** A ConfigMap that the garbage collector removes with its owner. */
export function ownedConfigMap(
  owner: OwnerReference,
  { namespace, name, data }: { namespace: string; name: string; data: Record<string, string> },
): OwnedConfigMap {
  const metadata = { namespace, name, ownerReferences: [owner] };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, spec: undefined, data };
}

/** That the operator may not write a ConfigMap, and how to change that. */
export function mayNotWrite(namespace: string, name: string): string {
  const grant = howToGrant(configMapResource, namespace, "get, create and patch", "rbac.exportNamespaces.configMaps");
  return `the operator may not write ConfigMap ${namespace}/${name}: ${grant}`;
}

/**
 * Makes the ConfigMap hold exactly this data. Writes nothing when it already does, and when another object owns it: then it
 * returns false.
 * @throws KubeError 409 when it changed meanwhile
 */
export async function writeConfigMap(
  kube: Pick<KubeClient, "get" | "create" | "mergePatch">,
  wanted: OwnedConfigMap,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace, name, ownerReferences } = wanted.metadata;
  const present = await findObject<ConfigMap>(kube, configMapResource, { namespace, name }, { signal });
  if (present === undefined) {
    try {
      await kube.create<ConfigMap>(configMapResource, { namespace }, wanted, { signal });
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }
  const isOwned = present.metadata.ownerReferences?.some(({ uid }) => ownerReferences.some((own) => own.uid === uid));
  if (isOwned !== true) return false;
  const data = mergePatchOf(present.data, wanted.data);
  if (data === undefined) return true;
  const { resourceVersion } = present.metadata;
  const patch = { metadata: { resourceVersion }, data };
  await kube.mergePatch<ConfigMap>(configMapResource, { namespace, name }, patch, { signal });
  return true;
}

/**
 * Writes a file into an ArtifactStore as it arrives, and replaces the previous one only when it is complete.
 * @throws the error of reading the file; ArtifactError
 */
export async function exportToStore(
  store: Pick<ArtifactStoreHandle, "writer">,
  { report, content, signal }: ReportFile,
  { prefix, format }: ReportOutput,
): Promise<ExportEnd> {
  const { namespace, name, uid } = report.metadata;
  const { kind } = billReportResource;
  const key = artifactKey({ prefix, namespace, kind, name, uid, index: 0, type: format });
  const writer = await store.writer(key, { signal });
  try {
    for await (const part of content) await writer.write(Buffer.from(part));
    return { kind: "Written", export: { ...(await writer.commit()), format } };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}
