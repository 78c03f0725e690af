import {
  type ArtifactStore,
  type ArtifactStoreStatus,
  artifactStoreSpecSchema,
} from "../../../src/api/v1alpha1/artifact-store.ts";
import { PENDING_STATUS } from "../../../src/api/v1alpha1/meta.ts";
import { ArtifactError } from "../../../src/artifacts/errors.ts";
import {
  artifactStoreStatus,
  probeVerdict,
  type StoreVerdict,
} from "../../../src/controllers/artifact-store/status.ts";
import { START } from "../fake-clock.ts";
import { conditionsOf } from "../kstatus.ts";
import { manifest } from "../manifests.ts";
import { storedMeta } from "../stored-meta.ts";

const stalledBefore: ArtifactStoreStatus = {
  conditions: conditionsOf("Stalled=True/StoreDenied", PENDING_STATUS.conditions),
};

/** A store after an outcome. */
export function storeAfter(
  before: ArtifactStoreStatus | undefined,
  outcome: StoreVerdict,
): ArtifactStore & { status: ArtifactStoreStatus } {
  const store: ArtifactStore = {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "ArtifactStore",
    metadata: storedMeta({ name: "results" }),
    spec: artifactStoreSpecSchema.parse(manifest("s3Store").spec),
    ...(before === undefined ? {} : { status: before }),
  };
  const facts = { location: "s3://results", handledRequest: undefined };
  return { ...store, status: artifactStoreStatus(store, outcome, facts, START) };
}

type StoreRow = [name: string, before: ArtifactStoreStatus, outcome: StoreVerdict, shows: string];

const failure = (kind: ArtifactError["kind"]) => probeVerdict(new ArtifactError(kind, "no"), false);

/** Every state of a store, with what `shows` tells of it. */
export const STORE_STATES: StoreRow[] = [
  ["that works", PENDING_STATUS, { kind: "Done" }, "Current: Ready=True/Ready"],
  ["that works again", stalledBefore, { kind: "Done" }, "Current: Ready=True/Ready"],
  [
    "that refuses the key",
    PENDING_STATUS,
    failure("Denied"),
    "Failed: Ready=False/StoreDenied Stalled=True/StoreDenied",
  ],
  ["that is full", PENDING_STATUS, failure("NoSpace"), "Failed: Ready=False/StoreFull Stalled=True/StoreFull"],
  ["that does not answer", PENDING_STATUS, failure("StoreUnreachable"), "InProgress: Ready=False/Unreachable"],
  [
    "that refused and does not answer now",
    stalledBefore,
    failure("StoreUnreachable"),
    "InProgress: Ready=False/Unreachable",
  ],
];
