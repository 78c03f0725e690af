import { ANNOTATIONS } from "../../../src/api/v1alpha1/meta.ts";
import { objectAt, textAt } from "../api-server/json.ts";
import type { Storage } from "../api-server/storage.ts";
import type { Records, Senders } from "../invariants/records.ts";
import type { Cluster } from "./cluster.ts";
import { objectOf, resourceOf } from "./manifests.ts";
import type { ObjectPlan } from "./objects.ts";
import type { Plan } from "./plan.ts";
import type { RecordFault } from "./record-faults.ts";

/** Somebody else than the operator writes or deletes what protects a request. Says what cannot be guaranteed after it. */
export type Tampering = {
  tamper(fault: Tamper): void;
  /** The object of the next create that takes effect is gone then. */
  goneWhenCreated(serial: number): void;
  /** The service has created an endpoint for the object. */
  created(serial: number): void;
  /**
   * Requests of which no trace may be left: the record was overwritten, or the object gone, and the process that sent the request has
   * ended.
   */
  untraced(serial: number): number;
  /** Nothing can have stopped the endpoints of the object when it was deleted. */
  leavesEndpoints(serial: number): boolean;
};

type Tamper = Extract<RecordFault, { fault: "removeRecord" | "removeFinalizer" | "copyRecord" | "restoreRecord" }>;

type Options = { plan: Plan; cluster: Cluster; storage: Storage; records: Records; senders: Senders };

export function createTampering({ plan, cluster, storage, records, senders }: Options): Tampering {
  /** Senders of the requests whose records were overwritten, by object. */
  const overwritten = new Map<number, (string | undefined)[]>();
  const doomed = new Set<number>();
  const gone = new Set<number>();
  const withoutFinalizer = new Set<number>();

  const planOf = (serial: number): ObjectPlan | undefined => plan.objects.find((one) => one.serial === serial);

  function overwrite(serial: number): void {
    const sender = records.of(serial).at(-1)?.sender;
    overwritten.set(serial, [...(overwritten.get(serial) ?? []), sender]);
    records.tampered(serial);
  }

  function annotate(object: ObjectPlan, value: string | null): void {
    cluster.patch(resourceOf(object), object, { metadata: { annotations: { [ANNOTATIONS.create]: value } } });
  }

  return {
    tamper(fault) {
      const object = planOf(fault.serial);
      const found = object && objectOf({ cluster }, object);
      if (object === undefined || found === undefined) return;
      if (fault.fault === "removeFinalizer") {
        if (textAt(found["metadata"], "deletionTimestamp") !== undefined) return;
        withoutFinalizer.add(fault.serial);
        cluster.patch(resourceOf(object), object, { metadata: { finalizers: null } });
        return;
      }
      if (fault.fault === "removeRecord") {
        overwrite(fault.serial);
        if (object.kind === "GpuEndpoint") annotate(object, null);
        else if ("submission" in objectAt(found, "status")) {
          cluster.patchStatus(resourceOf(object), object, { submission: null });
        }
        return;
      }
      const source = fault.fault === "copyRecord" ? records.of(fault.from).at(-1) : records.of(fault.serial)[0];
      if (source === undefined) return;
      overwrite(fault.serial);
      annotate(object, source.text);
    },
    goneWhenCreated: (serial) => void doomed.add(serial),
    created(serial) {
      const object = planOf(serial);
      const found = object && objectOf({ cluster }, object);
      if (object === undefined || found === undefined || !doomed.delete(serial)) return;
      const { plural, group } = resourceOf(object);
      gone.add(serial);
      storage.remove(`${plural}.${group}`, `${object.namespace}/${object.name}`, found);
    },
    untraced: (serial) =>
      (overwritten.get(serial) ?? []).filter((sender) => sender !== undefined && senders.endOf(sender) !== undefined)
        .length,
    leavesEndpoints(serial) {
      if (withoutFinalizer.has(serial)) return true;
      if (!gone.has(serial)) return false;
      const flight = records.lastFlight(serial);
      return flight?.end !== "Clear" || senders.endOf(flight.sender) !== undefined;
    },
  };
}
