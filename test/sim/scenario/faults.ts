import { accountResource } from "../../../src/api/v1alpha1/kinds.ts";
import { ANNOTATIONS } from "../../../src/api/v1alpha1/meta.ts";
import { configMapResource } from "../../../src/kube/resource.ts";
import { RESTORE_MARKER } from "../../../src/operator/restore-guard.ts";
import { textAt } from "../api-server/json.ts";
import { recordOf } from "../invariants/records.ts";
import { CALM, countFault, type Weather } from "../network/weather.ts";
import { OPERATOR_NAMESPACE } from "../operator/process.ts";
import { FOREIGN_KEY, objectOf, resourceOf, setDefaultAccount, setKeySecret } from "./manifests.ts";
import type { Fault } from "./plan.ts";
import type { World } from "./world.ts";

/** Lets a fault begin. */
export function inject(world: World, fault: Fault): void {
  const { replicas, storage, counts } = world;
  const connections = () => replicas.running().map((process) => process.connections);
  if (fault.fault !== "requests") countFault(counts, fault.fault);
  switch (fault.fault) {
    case "crash":
      replicas.crash(fault.process, fault.downMs);
      break;
    case "crashAtSend":
      replicas.crashAtSend(fault.process, fault);
      break;
    case "crashLoop":
      replicas.crashLoop(fault.forMs);
      break;
    case "terminate":
      replicas.terminate(fault.process, fault.downMs);
      break;
    case "pause":
      replicas.pause(fault.process, fault.forMs);
      break;
    case "requests":
      changeWeather(
        world,
        fault.of,
        { faults: fault.share, kinds: fault.kinds, writesOnly: fault.writesOnly },
        fault.forMs,
      );
      break;
    case "slow":
      changeWeather(world, fault.of, { latencyMs: fault.latencyMs }, fault.forMs);
      break;
    case "down":
      changeWeather(world, fault.of, { down: true }, fault.forMs);
      break;
    case "cutWatches":
      for (const one of connections()) one.cutWatches(fault.midLine);
      break;
    case "silenceWatches":
      for (const one of connections()) one.silenceWatches();
      break;
    case "delayWatches":
      for (const one of connections()) one.delayWatches(fault.forMs);
      break;
    case "compact":
      storage.compact();
      break;
    case "restartApi":
      storage.compact();
      for (const one of connections()) one.cutWatches(true);
      break;
    case "staleState":
      becomeStale(world, fault);
      break;
    case "restoreEtcd":
      restoreEtcd(world, fault);
      break;
    case "recordWrites":
      changeWeather(
        world,
        "api",
        { faults: fault.share, kinds: fault.kinds, only: fault.only, writesOnly: true },
        fault.forMs,
      );
      break;
    case "pruneSender":
      world.schema.pruneUntil = world.scheduler.now() + fault.forMs;
      break;
    case "goneWhenCreated":
      world.tampering.goneWhenCreated(fault.serial);
      break;
    case "removeRecord":
    case "removeFinalizer":
    case "copyRecord":
    case "restoreRecord":
      world.tampering.tamper(fault);
      break;
    case "ignoreUpdates":
      world.service.configure({ updateIgnores: ["*"] });
      world.scheduler.after(fault.forMs, () => world.service.configure({ updateIgnores: [] }));
      break;
    case "foreignKey":
      setKeySecret(world.cluster, FOREIGN_KEY);
      world.scheduler.after(fault.forMs, () => setOwnKey(world));
      break;
    case "defaultAccount":
      showDefaultAccount(world, fault);
      break;
    case "loseKey":
      setKeySecret(world.cluster, undefined);
      world.scheduler.after(fault.forMs, () => setOwnKey(world));
      break;
  }
}

function showDefaultAccount(
  { cluster, plan, scheduler }: World,
  { namespace, forMs, againMs }: Extract<Fault, { fault: "defaultAccount" }>,
): void {
  const show = () => setDefaultAccount(cluster, plan, { namespace, key: FOREIGN_KEY });
  show();
  if (forMs === undefined) return;
  scheduler.after(forMs, () => {
    cluster.delete(accountResource, { namespace, name: "default" });
    if (againMs !== undefined) scheduler.after(againMs, show);
  });
}

function setOwnKey({ cluster, service }: World): void {
  setKeySecret(cluster, service.config().apiKeys[0] ?? "");
}

/** The latest change wins; each ends by itself. */
function changeWeather(
  { weather, scheduler }: World,
  of: "api" | "service",
  change: Partial<Weather>,
  forMs: number,
): void {
  const changed = { ...weather[of], only: undefined, ...change, until: scheduler.now() + forMs };
  weather[of] = changed;
  scheduler.after(forMs, () => {
    if (weather[of] === changed) weather[of] = CALM;
  });
}

/** The latest lag wins. A process that started before it goes on with an API server that does not lag. */
function becomeStale(
  world: World,
  { process, behindMs, downMs, forMs }: Extract<Fault, { fault: "staleState" }>,
): void {
  const { replicas, scheduler, storage } = world;
  const state = storage.snapshot();
  scheduler.after(behindMs, () => {
    const since = scheduler.now();
    world.staleness.current = { since, lag: { state, until: since + downMs + forMs } };
    replicas.crash(process, downMs);
  });
}

/** The API servers start anew with the restored data. A user confirms the restore some time after the operator shows it. */
function restoreEtcd(world: World, fault: Extract<Fault, { fault: "restoreEtcd" }>): void {
  const { behindMs, downMs, bump, isSecret = false } = fault;
  const { storage, scheduler, replicas, plan, restores } = world;
  /** The objects that there are, with the records of their creates. */
  const recorded = () =>
    new Map(
      plan.objects.flatMap((object): [number, string | undefined][] => {
        const { plural, group } = resourceOf(object);
        const found = objectOf(world, object);
        return found === undefined ? [] : [[object.serial, recordOf(`${plural}.${group}`, found)?.id]];
      }),
    );
  const state = storage.snapshot();
  const witnesses = replicas.running();
  scheduler.after(behindMs, () => {
    const before = recorded();
    if (downMs > 0) changeWeather(world, "api", { down: true }, downMs);
    storage.restore(state, bump);
    scheduler.trace(`etcd is restored to version ${storage.version()}`);
    restores.restored(before, recorded());
    for (const { connections } of replicas.running()) connections.cutWatches(true);
    setOwnKey(world); // the snapshot can have an earlier one
    const isWitnessed = replicas.running().some((process) => witnesses.includes(process));
    if (!isWitnessed && !isSecret) announceRestore(world, downMs);
    scheduler.after(downMs + CONFIRMED_AFTER_MS, () => confirmRestore(world));
  });
}

/** What an administrator does when no process runs that has run since the snapshot (docs/how-to/recovery.md): the operator starts after it. */
function announceRestore({ cluster, replicas, plan }: World, downMs: number): void {
  for (let process = 0; process < plan.replicas; process++) replicas.crash(process, downMs);
  cluster.create(configMapResource, OPERATOR_NAMESPACE, { metadata: { name: RESTORE_MARKER } });
}

/** Users delete the jobs that they have paid for, end pauses that had ended before the restore, and confirm. */
function confirmRestore(world: World): void {
  const { cluster, plan, payments, restores, scheduler, judge } = world;
  const marker = { namespace: OPERATOR_NAMESPACE, name: RESTORE_MARKER };
  if (cluster.get(configMapResource, marker) === undefined) {
    judge.violated("RestoreConfirmed", "etcd was restored, and the operator does not show it");
    return;
  }
  for (const object of plan.objects) {
    const phase = textAt(objectOf(world, object)?.["status"], "phase");
    cluster.patch(resourceOf(object), object, { metadata: { annotations: { [ANNOTATIONS.paused]: null } } });
    if (phase === "Pending" && payments.isPaid(object.serial)) cluster.delete(resourceOf(object), object);
  }
  restores.confirmed();
  cluster.delete(configMapResource, marker);
  scheduler.trace("the restore is confirmed");
}
const CONFIRMED_AFTER_MS = 60_000;
