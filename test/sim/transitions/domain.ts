/** Values for fields whose rules the schema alone does not show. NAME stands for the name of the object. */
export type DomainRow = {
  kinds: readonly string[];
  path: RegExp;
  valid?: readonly unknown[];
  invalid?: readonly unknown[];
  /** Accepted by the API server or not: another field decides. */
  odd?: readonly unknown[];
};

const ACCOUNTS = ["Account", "ClusterAccount"];
const JOBS = ["SpeechJob", "VideoJob"];
const ALL = [...ACCOUNTS, ...JOBS, "ArtifactStore", "BillReport", "GpuEndpoint", "MediaBatch"];
const NOWHERE = "http://127.0.0.1:9";

export const DOMAIN: readonly DomainRow[] = [
  // References
  { kinds: ALL, path: /apiKeySecretRef\.namespace$/, odd: ["no-such-namespace"], invalid: ["My.Namespace"] },
  {
    kinds: ALL,
    path: /(secretKeyRef|configMapKeyRef|SecretRef)\.key$/i,
    valid: ["other", "no-such-key"],
    invalid: ["a/b"],
  },
  { kinds: ALL, path: /exportTo\.\w+\.name$/, valid: ["NAME-a", "NAME-b"], invalid: ["My_Object", "-a"] },
  { kinds: ALL, path: /Ref\.name$/, valid: ["other", "no-such-object"], invalid: ["My_Object", "-a"] },
  // Shapes that several kinds share
  {
    kinds: ALL,
    path: /(requestTimeout|[iI]nterval|settleTime)$/,
    valid: ["90s", "1m30s", "500ms"],
    invalid: ["soon", "0s", "-1s"],
  },
  {
    kinds: ALL,
    path: /(minRemaining|monthlyLimit|dailyLimit|reservePerTask|maxCost)$/,
    valid: ["0.0001", "12.5"],
    invalid: ["-1", "1.23456"],
  },
  {
    kinds: ALL,
    path: /(baseURL|s3\.endpoint)$/,
    valid: [NOWHERE, `${NOWHERE}/api`],
    invalid: ["ftp://a", "http://a@b"],
  },
  { kinds: ALL, path: /prefix$/, valid: ["films", "films/2026"], invalid: ["/films", "a/../b"] },
  // Accounts
  { kinds: ACCOUNTS, path: /timeZone$/, valid: ["Asia/Shanghai", "+08:00"], invalid: ["+25:00"], odd: ["Mars/Phobos"] },
  { kinds: ACCOUNTS, path: /deleteOperation\.path$/, valid: ["/v2/{id}"], invalid: ["{id}", "/a?b"], odd: ["/delete"] },
  { kinds: ACCOUNTS, path: /deleteOperation\.idField$/, odd: ["endpoint_id"], invalid: ["endpoint-id", "1st"] },
  { kinds: ACCOUNTS, path: /^paths\.\*$/, valid: ["/v3/newer"], invalid: ["v3", "/a b"] },
  { kinds: ACCOUNTS, path: /requestsPerSecond$/, valid: [0.1, 1_000], invalid: [0, 0.05] },
  { kinds: ACCOUNTS, path: /requestsPerMinute$/, valid: [1, 60], invalid: [0, 0.5] },
  { kinds: ACCOUNTS, path: /^budget\.(memberID|keyID)$/, valid: ["member-1", "member-2"] },
  { kinds: ACCOUNTS, path: /allowedPrivateNetworks$/, valid: [["10.0.0.0/8"], ["::1/128"]], invalid: [["10.0.0.0"]] },
  { kinds: ACCOUNTS, path: /keyIDs$/, valid: [["key-1"], ["key-1", "key-2"]] },
  { kinds: ACCOUNTS, path: /matchLabels\.\*$/, valid: ["blue", "green"] },
  { kinds: ACCOUNTS, path: /matchExpressions\[\]\.key$/, valid: ["team"], odd: ["not a label"] },
  { kinds: ACCOUNTS, path: /matchExpressions\[\]\.values$/, valid: [["a"], ["a", "b"]] },
  // Stores
  { kinds: ["ArtifactStore"], path: /bucket$/, valid: ["films", "films.2026"], invalid: ["Films", "-a-"] },
  { kinds: ["ArtifactStore"], path: /region$/, valid: ["eu-west-1", "auto"], invalid: ["eu west"] },
  { kinds: ["ArtifactStore"], path: /volume\.path$/, valid: ["films", "films/2026"], invalid: ["/films", "../films"] },
  { kinds: ["ArtifactStore"], path: /maxBytes$/, valid: ["8Gi", "1Ti"], invalid: ["0", "2000Ti"], odd: ["1Ki"] },
  { kinds: ["ArtifactStore"], path: /maxBytesPerJob$/, valid: ["1Mi", "1Gi"], invalid: ["65Gi", "1 Gi"] },
  // Bill reports
  {
    kinds: ["BillReport"],
    path: /startTime$/,
    valid: ["2026-02-02T00:00:00Z"],
    invalid: ["2025-01-01T00:00:00Z", "today"],
  },
  {
    kinds: ["BillReport"],
    path: /endTime$/,
    valid: ["2026-02-20T00:00:00Z"],
    invalid: ["2026-01-31T00:00:00Z", "today"],
  },
  { kinds: ["BillReport"], path: /lastDays$/, valid: [7, 90] },
  // Endpoints
  { kinds: ["GpuEndpoint"], path: /^appName$/, odd: ["another-app"], invalid: ["Chat_7B", "-a"] },
  { kinds: ["GpuEndpoint"], path: /^port$/, valid: [9000, 65_535], invalid: [2222, 2224] },
  { kinds: ["GpuEndpoint"], path: /^workers\.min$/, valid: [0, 2], odd: [3, 100] },
  { kinds: ["GpuEndpoint"], path: /^workers\.max$/, valid: [1, 5, 100], odd: [0, 101] },
  { kinds: ["GpuEndpoint"], path: /^workers\.gpus$/, valid: [1, 8], odd: [9] },
  { kinds: ["GpuEndpoint"], path: /^workers\.\w+Seconds$/, valid: [1, 1_800], odd: [3_601] },
  { kinds: ["GpuEndpoint"], path: /^workers\.maxConcurrency$/, valid: [1, 1_000], odd: [1_001] },
  { kinds: ["GpuEndpoint"], path: /^policy\.value$/, valid: [1, 1_000], odd: [1_001] },
  { kinds: ["GpuEndpoint"], path: /^env\[\]\.name$/, valid: ["MODE", "mode.of-operation"] },
  { kinds: ["GpuEndpoint"], path: /^volumes\[\]\.sizeGB$/, odd: [30, 31] },
  { kinds: ["GpuEndpoint"], path: /^ignoreDrift$/, valid: [["workers.min"], ["workers", "image"]], invalid: [["cpu"]] },
  { kinds: ["GpuEndpoint"], path: /^products$/, odd: [[{ id: "a" }, { id: "b" }]] },
  {
    kinds: ["GpuEndpoint"],
    path: /^env$/,
    valid: [
      [{ name: "A", value: "1" }],
      [
        { name: "B", value: "2" },
        { name: "A", value: "1" },
      ],
    ],
  },
  { kinds: ["GpuEndpoint"], path: /^volumes$/, valid: [[{ type: "local", mountPath: "/scratch" }]] },
  // Jobs
  { kinds: JOBS, path: /^output\.name$/, valid: ["NAME-a", "part.2_b"], invalid: ["../a", "-a", ""] },
  { kinds: JOBS, path: /^managedBy$/, odd: ["example.com/queue"], invalid: ["queue", "a b/c"] },
  {
    kinds: [...JOBS, ...ACCOUNTS],
    path: /callback\.url$/,
    odd: [`${NOWHERE}/a?b=c`],
    invalid: ["ftp://a", "http://a@b", "http://a/#b"],
  },
  { kinds: JOBS, path: /URL$/, odd: ["https://a.example.com/b", "http://10.0.0.1/c"], invalid: ["ftp://a", "a"] },
  { kinds: JOBS, path: /referenceURLs$/, odd: [["https://a.example.com/b"]], invalid: [["a"]] },
  { kinds: ["MediaBatch"], path: /^managedBy$/, odd: ["example.com/queue"], invalid: ["queue", "a b/c"] },
  {
    kinds: ["MediaBatch"],
    path: /(keyPrefix|object\.key)$/,
    valid: ["films", "films/2026"],
    invalid: ["/films", "a/../b"],
  },
  { kinds: ["MediaBatch"], path: /^items\.inline$/, valid: [[{ text: "a" }], [{}]], invalid: [[]] },
  { kinds: ["MediaBatch"], path: /^items\.inline\[\]$/, valid: [{ text: "a" }, { text: "b" }] },
  { kinds: ["MediaBatch"], path: /URL$/, valid: ["https://a.example.com/b"], invalid: ["ftp://a", "a"] },
  { kinds: ["MediaBatch"], path: /referenceURLs$/, valid: [["https://a.example.com/b"]], invalid: [["a"]] },
  { kinds: ["MediaBatch"], path: /tone$/, odd: [[{ word: "quay", sound: "key" }]] },
  { kinds: ["MediaBatch"], path: /tone\[\]$/, odd: [{ word: "quay", sound: "key" }] },
  { kinds: ["MediaBatch"], path: /timbreWeights$/, odd: [[{ voiceID: "a", weight: 1 }]] },
  {
    kinds: JOBS,
    path: /object\.key$/,
    valid: ["texts/b.txt", "c.txt"],
    invalid: ["/texts", "a/../b", ".", "./a", "a//b", "a/", "a\\b", "a\nb"],
  },
  { kinds: ["SpeechJob"], path: /^text$/, odd: ["One.<#0.5#>Two."], invalid: ["One.<#0.5#><#0.5#>Two.", "<#100#>"] },
  { kinds: ["SpeechJob"], path: /tone$/, odd: [[{ word: "quay", sound: "key" }]] },
  { kinds: ["SpeechJob"], path: /tone\[\]$/, odd: [{ word: "quay", sound: "key" }] },
  { kinds: ["SpeechJob"], path: /timbreWeights$/, odd: [[{ voiceID: "a", weight: 1 }]] },
];
