/** What the server of the web page gives to the page. Types only: both sides import this file. */

/** One line of a list. */
export type ObjectRow = {
  kind: string;
  /** "" for a cluster-scoped object. */
  namespace: string;
  name: string;
  uid: string;
  /** As `mooring status` shows it: a job's phase, or Ready, NotReady, Reconciling, Stalled, Paused or Deleting. */
  state: string;
  reason: string;
  message: string;
  /** RFC 3339, as `created`. */
  since: string;
  created: string;
  needsUser: boolean;
  endpoint?: EndpointColumns | undefined;
  job?: JobColumns | undefined;
};

export type EndpointColumns = {
  remoteState: string;
  image: string;
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
  progressPercent?: number | undefined;
  etaSeconds?: number | undefined;
  results: number;
  duration?: string | undefined;
};

/** A page of a list. */
export type RowPage = {
  rows: ObjectRow[];
  /** Rows that match the filters, on all pages. */
  total: number;
  /** From 1. */
  page: number;
  pageSize: number;
  /** Number of matching rows by state, before the filter by state. */
  states: Record<string, number>;
  /** All namespaces with objects, sorted. */
  namespaces: string[];
  /** False while the first lists of the cluster are incomplete. */
  synced: boolean;
};

export type ListView = "endpoints" | "jobs" | "inbox" | "all";

/** What a user can do to an object. */
export type ActionView = {
  name: string;
  label: string;
  /** The consequence, which the user must confirm first. Absent: none that needs it. */
  confirm?: string | undefined;
  /** The same as a kubectl command. */
  command: string;
};

export type InboxRow = ObjectRow & { actions: ActionView[]; commands: string[] };
export type InboxPage = Omit<RowPage, "rows"> & { rows: InboxRow[] };

export type DriftView = { field: string; desired?: string | undefined; observed?: string | undefined };
export type MomentView = { time: string; what: string; text: string };
export type ConditionView = { type: string; status: string; reason: string; message: string; since: string };

/** A result of a job. `media` plays in the page; absent: nothing that the page can get. */
export type ResultView = {
  kind: string;
  type: string;
  /** Where it is: the location of the copy, or the host and path of the URL. */
  location: string;
  expiresAt?: string | undefined;
  bytes?: number | undefined;
  /** Name of the file when it is downloaded. */
  file: string;
  /** Path below the page's own address. */
  media?: string | undefined;
};

export type ObjectView = {
  row: ObjectRow;
  actions: ActionView[];
  /** Commands that help in the object's state. */
  commands: string[];
  conditions: ConditionView[];
  drift: DriftView[];
  /** Pairs of label and value that matter most for the kind. */
  facts: [label: string, value: string][];
  results: ResultView[];
  /** Oldest first. */
  history: MomentView[];
  /** Why the history has no events; absent: it has them. */
  eventsMissing?: string | undefined;
  /** The spec and the status as YAML. URLs of results are without their signatures. */
  spec: string;
  status: string;
};

export type SpendingView = { accounts: AccountSpending[]; reports: ReportSpending[] };
export type AccountSpending = {
  kind: string;
  namespace: string;
  name: string;
  /** Yuan. Absent: the account does not show amounts. */
  spend?:
    | { day?: number | undefined; week?: number | undefined; month?: number | undefined; asOf?: string | undefined }
    | undefined;
  monthlyLimit?: number | undefined;
  budgets: {
    key: string;
    type: string;
    limit?: number | undefined;
    used?: number | undefined;
    remaining?: number | undefined;
  }[];
  exceeded?: string | undefined;
};
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

export type JobForm = {
  kind: string;
  name: string;
  namespace: string;
  spec: Record<string, unknown>;
};
export type ManifestProblemView = { path: string; message: string };
export type ManifestView = { yaml: string; problems: ManifestProblemView[] };
export type ErrorView = { error: string };
