/** What the server of the web page gives to the page. Types only: both sides import this file. */

/** One line of a list. */
export type ObjectRow = {
  kind: string;
  /** "" for a cluster-scoped object. */
  namespace: string;
  name: string;
  uid: string;
  /** As `mooring status` shows it. */
  state: string;
  reason: string;
  message: string;
  /** RFC 3339, as `created`. */
  since: string;
  created: string;
  needsUser: boolean;
  /** The first words of a job's text or prompt, the image of an endpoint; "" for other kinds. */
  about: string;
  /** Yuan: of a finished job, or of an endpoint in this month. Absent: not known, or not shown to this namespace. */
  cost?: string | undefined;
  endpoint?: EndpointColumns | undefined;
  job?: JobColumns | undefined;
};

export type EndpointColumns = {
  remoteState: string;
  workers: Workers;
  /** Number of fields in which the remote endpoint differs from the spec. */
  drift: number;
  /** Status of the condition Synced; "" without one. */
  synced: string;
};

export type Workers = {
  min: number;
  max: number;
  total?: number | undefined;
  ready?: number | undefined;
  healthy?: number | undefined;
  draining?: number | undefined;
};

export type JobColumns = {
  phase: string;
  model: string;
  /** "" for a video, and for a mix of voices. */
  voice: string;
  progressPercent?: number | undefined;
  etaSeconds?: number | undefined;
  results: number;
  duration?: string | undefined;
};

/** A part of a list. */
export type RowPage = {
  rows: ObjectRow[];
  /** Rows that match the filters. */
  total: number;
  /** Place of the first of `rows`, from 0. */
  offset: number;
  /** Number of matching rows by state, before the filter by state. */
  states: Record<string, number>;
  /** All namespaces with objects, sorted. */
  namespaces: string[];
  /** False while the first lists of the cluster are incomplete. */
  synced: boolean;
};

export type ListView = "endpoints" | "jobs" | "attention" | "all";

/** What a user can do to an object. */
export type ActionView = {
  name: string;
  label: string;
  /** What happens to this object at the service, which the user must confirm first. Absent: nothing that needs it. */
  confirm?: string | undefined;
  /** Label of what the user has to type; absent: nothing. */
  input?: string | undefined;
  /** The action that helps in this state. */
  primary: boolean;
  danger: boolean;
  /** The same as a kubectl command. */
  command: string;
};

/** What became of an action on many objects. `id`: as the page names a row. */
export type BulkResult = { done: number; failed: { id: string; name: string; message: string }[] };

export type AttentionRow = ObjectRow & { actions: ActionView[] };

export type OverviewView = {
  /** What needs a person: the newest, with the actions that help. */
  attention: { total: number; rows: AttentionRow[] };
  /** Objects that wait for something else and continue by themselves, by reason. */
  waiting: { reason: string; count: number }[];
  /** Jobs at the service. */
  running: { total: number; rows: ObjectRow[] };
  endpoints: {
    total: number;
    ready: number;
    suspended: number;
    drifting: number;
    workers: number;
    workersReady: number;
    /** Sum of workers.max of the endpoints that are not suspended. */
    workersMax: number;
  };
  accounts: AccountSpending[];
  /** The last jobs that ended with results. */
  results: VersionView[];
  synced: boolean;
};

export type DriftView = { field: string; desired?: string | undefined; observed?: string | undefined };
/** `important`: what a person wants to know first. */
export type MomentView = { time: string; what: string; text: string; important: boolean };
export type ConditionView = { type: string; status: string; reason: string; message: string; since: string };

/** A result of a job. `media` plays in the page; absent: nothing that the page can get. */
export type ResultView = {
  kind: string;
  type: string;
  /** Where it is: the location of the copy, or the host and path of the URL. */
  location: string;
  /** Whether the location is that of a copy, which does not expire. */
  copied: boolean;
  expiresAt?: string | undefined;
  bytes?: number | undefined;
  /** Name of the file when it is downloaded. */
  file: string;
  /** Path below the page's own address. */
  media?: string | undefined;
};

export type ResultUrl = { url: string };
/** The response of an endpoint. `body`: absent when it is no text. `cut`: the body is longer than what is shown. */
export type CallView = {
  status: number;
  firstByteMs: number;
  totalMs: number;
  headers: [string, string][];
  bytes: number;
  body?: string | undefined;
  cut: boolean;
};

/** Another job with the same text or prompt, and its results. */
export type VersionView = { row: ObjectRow; results: ResultView[] };

/** What helps to decide about a halted job, besides the bills. */
export type HaltView = {
  /** What is known of the outcome. */
  outcome: string;
  /** RFC 3339. */
  requestTime: string;
  attempt: number;
  operation: string;
  /** Such as `1234 characters`. Absent: not known. */
  quantity?: string | undefined;
  /** Jobs that the user may see and whose request of this operation the service accepted on that day, in UTC. */
  sameDay: number;
  /** Reads the bills of that day. */
  command: string;
};

export type WorkerView = {
  id: string;
  status: string;
  problem: string;
  healthy?: boolean | undefined;
  draining?: boolean | undefined;
  log?: string | undefined;
};

export type ObjectView = {
  row: ObjectRow;
  /** The whole text or prompt of a job. */
  text?: string | undefined;
  /** What happens next by itself. */
  next?: string | undefined;
  actions: ActionView[];
  /** Commands that help in the object's state. */
  commands: string[];
  halt?: HaltView | undefined;
  conditions: ConditionView[];
  drift: DriftView[];
  /** Pairs of label and value that matter most for the kind. */
  facts: [label: string, value: string][];
  results: ResultView[];
  versions: VersionView[];
  /** Of an endpoint. */
  workers: WorkerView[];
  /** Address of an endpoint that serves requests. */
  url?: string | undefined;
  /** Oldest first. */
  history: MomentView[];
  /** Why the history has no events; absent: it has them. */
  eventsMissing?: string | undefined;
  /** The spec and the status as YAML. URLs of results are without their signatures. */
  spec: string;
  status: string;
};

export type MoneyView = { accounts: AccountSpending[]; reports: ReportSpending[] };
export type AccountSpending = {
  kind: string;
  namespace: string;
  name: string;
  /** Yuan. Absent: the account does not show amounts. */
  spend?:
    | { day?: number | undefined; week?: number | undefined; month?: number | undefined; asOf?: string | undefined }
    | undefined;
  monthlyLimit?: number | undefined;
  ready: boolean;
  /** Why the account is not ready, or shows no amounts. */
  why: string;
  budgets: {
    key: string;
    type: string;
    limit?: number | undefined;
    used?: number | undefined;
    remaining?: number | undefined;
  }[];
  exceeded?: string | undefined;
};
/** Amounts are in yuan. */
export type Amount = { label: string; amount: number };
export type ReportSpending = {
  namespace: string;
  name: string;
  period: string;
  total?: number | undefined;
  asOf?: string | undefined;
  final: boolean;
  byProduct: Amount[];
  byCategory: Amount[];
  byKey: Amount[];
  /** Labels are days such as 2026-11-22, the first of the period of the bills, oldest first. */
  byDate: Amount[];
  /** By namespace, or by object: most expensive first. */
  shares: Amount[];
};

export type KindState = { kind: string; problem?: string | undefined };

/** What the page knows of its server. Sent first and after each change. */
export type SessionState = {
  version: string;
  /** Why the page changes nothing; absent: it may. */
  readOnly?: string | undefined;
  /** Namespaces that the page shows; empty: all. */
  namespaces: string[];
  kinds: KindState[];
  synced: boolean;
  /** Since when lists and watches fail; absent: the cluster responds. RFC 3339. */
  disconnectedSince?: string | undefined;
};

/** Objects that changed: `KIND/NAMESPACE/NAME`. Absent `keys`: more than the message can name. */
export type ChangeMessage = { kinds: string[]; keys?: string[] | undefined };

/** A part of the OpenAPI schema of a CRD. */
export type FieldSchema = {
  type?: string;
  description?: string;
  enum?: (string | number)[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  default?: unknown;
  required?: string[];
  properties?: Record<string, FieldSchema>;
  items?: FieldSchema;
};

export type FormView = {
  kind: string;
  namespaced: boolean;
  /** Of the spec. */
  schema: FieldSchema;
  namespaces: string[];
  /** What fields can be, by path such as `spec.voiceSetting.voiceID`; items of a list have the path of the list. */
  choices: Record<string, string[]>;
};

export type ManifestProblemView = { path: string; message: string };
/** `object`: absent when the YAML cannot be read. `price`: in yuan, of a job or of an hour with all workers; absent: not known. */
export type ManifestView = {
  yaml: string;
  object?: object;
  problems: ManifestProblemView[];
  price?: { amount: string; per: "Job" | "Batch" | "Hour" };
};
/** What an edit changes, as YAML. */
export type ReviewView = { before: string; after: string; problems: ManifestProblemView[] };
/** An object as its user writes it, and which version of it that is. */
export type EditView = { manifest: object; uid: string; version: string };
export type AppliedView = { kind: string; namespace: string; name: string };
/** `problems`: what the API server refuses, by field. */
export type ErrorView = { error: string; problems?: ManifestProblemView[] };
