import { keepProblem } from "../api/manifest/spec-problem.ts";
import type { Kind } from "../controllers/controller-deps.ts";
import type { Job } from "../controllers/jobs/types.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Reconcile, SharedReconciler } from "../runtime/controller.ts";
import { createInformer, type Informer } from "../runtime/informer.ts";
import { dropUnreadMetadata, isPartial, shortened } from "../runtime/shortened.ts";
import type { Indexer } from "../runtime/store.ts";
import type { TraceSource } from "../tracing/trace-source.ts";
import { KIND_ROWS, type KindName, type KindRow, type KindRows, type ObjectOf, type OperatorContext } from "./kinds.ts";
import { dropUnread, type OwnedRow } from "./ownership.ts";

/** One informer per row of the table of kinds. */
export type Informers = { readonly [Name in KindName]: Informer<ObjectOf<Name>> };

export type InformerOptions = Omit<
  Parameters<typeof createInformer>[0],
  "resource" | "indexers" | "trim" | "kept" | "replaces"
> & {
  /** UID of the namespace kube-system: a part of generated app names. */
  clusterUID: string;
  /** Whether this process needs all of the object. Of another object, only what lookups read is stored. */
  isWhole: (row: OwnedRow, object: KubeObject) => boolean;
};

/** In the order of the table. Starts nothing. */
export function createInformers({ clusterUID, isWhole, ...options }: InformerOptions): Informers {
  const informer = <T extends KubeObject>(row: KindRow<T>): Informer<T> => {
    const { resource, indexers } = row;
    const trim = (object: T) => {
      row.trim?.(object);
      dropUnreadMetadata(object);
      if (row.account !== undefined && !isWhole(row, object)) dropUnread(object);
    };
    // Only an object that the operator may read again is shortened.
    const kept = row.verbs.includes("get") ? (object: T) => keptOf(row, object) : undefined;
    const replaces = (next: T, previous: T) => isPartial(previous) && !isPartial(next);
    return createInformer<T>({ ...options, resource, indexers: indexers(clusterUID), trim, kept, replaces });
  };
  return mapRows(informer);
}

/** The object without what is long. What the schema says of the whole spec is known first. */
function keptOf<T extends KubeObject>({ resource }: KindRow<T>, object: T): T {
  const kept = shortened(object);
  if (kept !== object) keepProblem(resource, object, kept);
  return kept;
}

/** Applies a function to each row. A mapped type over functions with a type parameter cannot be inferred, hence the casts. */
function mapRows(informer: <T extends KubeObject>(row: KindRow<T>) => Informer<T>): Informers {
  const rows: [string, KindRow<never>][] = Object.entries(KIND_ROWS satisfies KindRows);
  return Object.fromEntries(rows.map(([name, row]) => [name, informer<never>(row)])) as unknown as Informers;
}

/** A row with its informer, without the type of its objects. */
export type AnyKind = {
  row: Omit<KindRow<never>, "reconciler" | "indexers" | "trim" | "traces"> & {
    reconciler(context: OperatorContext, kind: Kind<KubeObject>): Reconcile | SharedReconciler<KubeObject>;
    traces?: TraceSource<KubeObject>;
  };
  informer: Informer<KubeObject>;
  /** The keys of an object in an index of its kind; none when the kind has no such index. */
  keysIn(index: string, object: KubeObject): string[];
};

/** The informers of paid jobs. */
export function jobInformersOf(informers: Informers): Informer<Job>[] {
  return kindsOf(informers, "").flatMap(({ row, informer }) =>
    row.isJob ? [informer as unknown as Informer<Job>] : [],
  );
}

export function kindsOf(informers: Informers, clusterUID: string): AnyKind[] {
  const rows: [string, KindRow<never>][] = Object.entries(KIND_ROWS satisfies KindRows);
  return rows.map(([name, row]) => {
    const indexers: Record<string, Indexer<never>> = row.indexers(clusterUID);
    return {
      row,
      informer: informers[name as KindName],
      keysIn: (index, object) => indexers[index]?.(object as never) ?? [],
    };
  });
}
