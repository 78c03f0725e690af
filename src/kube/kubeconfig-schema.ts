import type { Cluster, User } from "@kubernetes/client-node/dist/config_types.js";
import * as z from "zod";
import type { Clock } from "../base/clock.ts";

const text = z
  .string()
  .nullish()
  .transform((value) => value || undefined);
const list = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .nullish()
    .transform((value) => value ?? []);

/** The fields of a kubeconfig that Mooring reads itself. client-node reads the rest. */
const clusterSchema = z.looseObject({
  server: z.string().min(1),
  extensions: list(z.object({ name: z.string(), extension: z.unknown() })),
});
const execSchema = z.object({
  apiVersion: z.enum(["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]),
  command: z.string().min(1),
  args: list(z.string()),
  env: list(z.object({ name: z.string(), value: z.string() })),
  installHint: text,
  provideClusterInfo: z.boolean().nullish(),
  interactiveMode: text,
});
export const userSchema = z.looseObject({
  tokenFile: text,
  exec: execSchema.nullish(),
  "auth-provider": z.looseObject({ name: z.string() }).nullish(),
  as: text,
  "as-uid": text,
  "as-groups": list(z.string()),
  "as-user-extra": z.record(z.string(), z.array(z.string())).nullish(),
});
/** A kubeconfig file. */
export const fileSchema = z.object({
  clusters: list(z.object({ name: z.string(), cluster: clusterSchema })),
  users: list(z.object({ name: z.string(), user: z.preprocess((user) => user ?? {}, userSchema) })),
  contexts: list(z.object({ name: z.string(), context: z.looseObject({ cluster: z.string().min(1) }) })),
  "current-context": text,
});

/** The current context: as client-node reads it, and the fields that only Mooring reads. */
export type KubeconfigContext = {
  namespace: string | undefined;
  cluster: Cluster;
  user: User;
  ownCluster: KubeconfigCluster;
  ownUser: z.output<typeof userSchema>;
};
export type KubeconfigCluster = z.output<typeof clusterSchema>;
export type KubeconfigExec = z.output<typeof execSchema>;

export type KubeconfigOptions = {
  /** How the files were named, for messages: `kubeconfig /path`, `KUBECONFIG=a:b`. */
  label: string;
  /** What exec plug-ins inherit. */
  env: Readonly<Record<string, string | undefined>>;
  clock: Pick<Clock, "now">;
};
