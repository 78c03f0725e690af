/** What an attacker tries, and the test that shows what happens. */
export type Attempt = {
  /** Who attacks: a user with the role `edit` in a namespace, the remote service, or the host of a result. */
  by: "Tenant" | "Service" | "Result host";
  attempt: string;
  /** File, relative to test/. */
  file: string;
  /** A part of the test's name. */
  test: string;
};

const service = (attempt: string, file: string, test: string): Attempt => ({ by: "Service", attempt, file, test });
const tenant = (attempt: string, file: string, test: string): Attempt => ({ by: "Tenant", attempt, file, test });
const host = (attempt: string, file: string, test: string): Attempt => ({ by: "Result host", attempt, file, test });

export const ATTEMPTS: readonly Attempt[] = [
  service(
    "Quotes the API key in a status, a bill, a limit or an identifier",
    "security/secrets.test.ts",
    "the API key %s",
  ),
  service(
    "Quotes a Secret's value in a refusal, a failed task or an endpoint",
    "security/secrets.test.ts",
    "a value of the request %s",
  ),
  service("Quotes the key of an earlier request", "security/secrets.test.ts", "a former API key is hidden as well"),
  service(
    "Sends control, C1 and bidirectional characters",
    "unit/base/sanitizer.test.ts",
    "any text is one line of at most the limit",
  ),
  service("Returns values that the CRD refuses", "security/status-bounds.test.ts", "a task with status %s"),
  service("Returns a task ID that cannot be stored", "security/task-identifiers.test.ts", "halts the job"),
  service(
    "Returns lists that are too large, too deep or without an end",
    "security/cluster/hostile-lists.test.ts",
    "costs the operator little",
  ),
  service("Returns pages without an end", "component/provider/endpoints/pages.test.ts", "are an incomplete list"),
  service(
    "Returns megabytes to every call",
    "unit/provider/response-memory.test.ts",
    "one account reads one large body at a time",
  ),
  service("Returns JSON that hides what it contains", "unit/provider/wire/pages.test.ts", "with %s is refused"),
  service("Asks for a pause of years", "security/retry-after.test.ts", "pauses one operation for an hour at most"),
  service("Falls silent in a stream", "component/provider/http/sockets.test.ts", "that falls silent"),
  service(
    "Sends a response without an end",
    "component/provider/http/large-bodies.test.ts",
    "is not held without a limit",
  ),
  service(
    "Quotes the variables of a create that it refuses",
    "component/provider/http/hidden-values.test.ts",
    "is not shown when the service quotes it %s",
  ),
  host(
    "Redirects a copy to a private address",
    "integration/artifacts/result-addresses.test.ts",
    "are not copied from private addresses",
  ),
  host("Resolves to a private address", "component/artifacts/source.test.ts", "is not connected to"),
  host(
    "Is in a network that nobody may connect to",
    "security/denied-networks.test.ts",
    "in a denied network is refused",
  ),
  tenant("Names a key that every object inherits", "security/inherited-keys.test.ts", "the key %s"),
  tenant(
    "Leaves a store by the key of an artifact or the type of a result",
    "unit/artifacts/key.test.ts",
    "is refused",
  ),
  tenant(
    "Leaves the folder of a store by its path or by a link",
    "component/artifacts/volume.test.ts",
    "a link in place of a folder or of the file is refused",
  ),
  tenant("Puts a header or another request into a request", "security/header-injection.test.ts", "is not sent"),
  tenant(
    "Uses an Account's Secret of another namespace",
    "integration/tenants.test.ts",
    "reads the Secret of its own namespace only",
  ),
  tenant(
    "Uses a ClusterAccount that does not allow the namespace",
    "sim/stories/tenants.test.ts",
    "does not allow is reported and sends nothing",
  ),
  ...[
    "a team that $what is refused, and nothing is sent",
    "the items of a batch are held to the same lists, each as a job",
    "nothing that a team can read in its namespace tells of another share",
  ].map((test) => tenant("Uses what another share of the account has", "integration/shares.test.ts", test)),
  tenant(
    "Moves its namespace to another share, or reads one",
    "integration/chart-policies.test.ts",
    "can neither move to another share nor read one",
  ),
  tenant("Points an Account at a private address", "integration/tenants.test.ts", "at a private address is refused"),
  tenant(
    "Points a store at a private address",
    "integration/artifacts/artifact-store.test.ts",
    "a store at a private address is refused",
  ),
  tenant("Takes over another namespace's endpoint", "integration/ownership.test.ts", "is not taken over by Match"),
  tenant(
    "Reads the metrics without permission",
    "integration/metrics-auth.test.ts",
    "shows its metrics only to users with permission",
  ),
  tenant("Looks for secrets in the log", "component/base/log.test.ts", "secrets are cut out by name"),
];
