/** What a VideoJob is made from, besides its prompt. */
export type InputPlan =
  /** `imageFrom.object` and `audioFrom.object`. */
  | { from: "Image" | "Audio"; key: string }
  /** `audioFrom.jobRef`. */
  | { from: "Job"; kind: "SpeechJob" | "VideoJob"; name: string };

/** An object that a user creates. `serial` is part of what is sent to the service, so that each request names its object. */
export type ObjectPlan = {
  serial: number;
  kind: "GpuEndpoint" | "SpeechJob" | "VideoJob";
  namespace: string;
  name: string;
  at: number;
  /** GpuEndpoint: `Delete` needs an operation of the account. */
  deletionPolicy?: "ScaleToZero" | "Retain" | "Delete";
  /** GpuEndpoint: two objects want the same name at the service. Nobody changes or deletes them. */
  appName?: string;
  /** Job: its results are copied to a store. */
  stored?: boolean;
  /** SpeechJob: one request that returns the audio, instead of a task. */
  synchronous?: boolean;
  /** Job: further paid attempts after failed tasks. */
  backoffLimit?: number;
  /** Job: its first task fails. */
  fails?: boolean;
  /** Job: it reuses results. Objects with the same serial send the same request. */
  reuse?: boolean;
  /** Job: it is deleted so long after its end, and a user who looks every some seconds creates it again. */
  ttlSeconds?: number;
  /** VideoJob: what it is made from. Default: the URL of an image. */
  input?: InputPlan;
  /** Job: its manifest was copied from a job that had been released. */
  copiedToken?: boolean;
};
