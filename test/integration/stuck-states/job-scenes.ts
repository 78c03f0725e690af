import { manifest } from "../../support/manifests.ts";
import { type World, waitForCondition } from "../../support/world.ts";
import { of, reconcileNow, type Scene, type Stage } from "./stage.ts";

const LONG_MS: [number, number] = [6_000_000, 6_000_000];

/** A video whose only response is lost. */
async function halted({ world, account }: Stage, name: string): Promise<void> {
  const remote = await account(name);
  await remote.control("/__faults", { kind: "resetAfter", operation: "submitImageToVideo" });
  await world.apply(manifest("image", of(name), name));
  await waitForCondition(world, "VideoJob", name, "Stalled");
}

const attach = (world: World, kind: string, name: string, taskID: string) =>
  world.patch(kind, name, { metadata: { annotations: { "mooring.dev/attach-task": taskID } } });

const withdraw = (object: string) => [`kubectl annotate ${object} -n team-a mooring.dev/attach-task-`];

/** A video with the audio of another job. */
const filmOf = (name: string, kind: string, source: string) =>
  manifest("reference", { videoToVideo: { input: { audioFrom: { jobRef: { kind, name: source } } } } }, name);

export const JOB_SCENES: readonly Scene[] = [
  {
    reason: "SubmissionUnknown",
    kind: "VideoJob",
    name: "unlucky",
    when: "The response to a paid request was lost. The service may have accepted and charged it, so Mooring does not send it again.",
    arrange: (stage) => halted(stage, "unlucky"),
    advice:
      "`mooring resolve videojob/unlucky` shows the bills of that time. If they show the task, attach it, which pays nothing. If not, send the request again:",
    commands: { explained: "mooring.dev/resubmit-token" },
  },
  {
    reason: "TaskNotFound",
    kind: "VideoJob",
    name: "lost-task",
    condition: "TaskAttached",
    when: "The annotation mooring.dev/attach-task names a task that the service does not know. The job stays Halted.",
    async arrange(stage) {
      await halted(stage, "lost-task");
      await attach(stage.world, "VideoJob", "lost-task", "no-such-task");
    },
    advice: "Attach another task with the command of `mooring explain`, or remove the annotation:",
    commands: withdraw("videojob lost-task"),
  },
  {
    reason: "TaskTaken",
    kind: "VideoJob",
    name: "late",
    condition: "TaskAttached",
    when: "Another object has the task of the annotation mooring.dev/attach-task. The job stays Halted.",
    async arrange(stage) {
      const { world } = stage;
      await halted(stage, "late");
      await world.apply(manifest("image", of("late"), "early"));
      const early = await waitForCondition(world, "VideoJob", "early", "Complete");
      await attach(world, "VideoJob", "late", String(early.status?.["taskID"]));
    },
    advice: "Attach another task with the command of `mooring explain`, or remove the annotation:",
    commands: withdraw("videojob late"),
  },
  {
    reason: "TaskMismatch",
    kind: "SpeechJob",
    name: "no-task",
    condition: "TaskAttached",
    when: "The task of the annotation mooring.dev/attach-task cannot come from the request of the job. The job stays Halted.",
    async arrange({ world, account }) {
      const remote = await account("no-task");
      await remote.control("/__faults", { kind: "resetAfter", operation: "synthesizeSpeech" });
      await world.apply(manifest("turbo", of("no-task"), "no-task"));
      await waitForCondition(world, "SpeechJob", "no-task", "Stalled");
      await attach(world, "SpeechJob", "no-task", "0123456789abcdef");
    },
    advice:
      "Attach another task, or remove the annotation. A job whose request makes no task can only be sent again or deleted:",
    commands: withdraw("speechjob no-task"),
  },
  {
    reason: "InsufficientBalance",
    kind: "SpeechJob",
    name: "broke",
    when: "The balance of the account is used up.",
    async arrange({ world, account }) {
      await account("broke", { service: { balance: 0 } });
      await world.apply(manifest("turbo", of("broke"), "broke"));
    },
    advice:
      "Top up the account at the service. The job continues within five minutes. Or give up, which costs nothing:",
    commands: ["kubectl delete speechjob broke -n team-a"],
  },
  {
    reason: "OperationForbidden",
    kind: "SpeechJob",
    name: "forbidden",
    says: "not sent: the service does not allow this operation",
    when: "The service does not allow the key to use this operation (403). Other operations of the account continue.",
    async arrange({ world, account }) {
      await account("forbidden", { service: { forbiddenOperations: ["synthesizeSpeech"] } });
      await world.apply(manifest("turbo", of("forbidden"), "forbidden"));
    },
    advice: "Allow the operation at the service. Mooring tries it again with backoff. Or give up, which costs nothing:",
    commands: ["kubectl delete speechjob forbidden -n team-a"],
  },
  {
    reason: "NotEntitled",
    kind: "VideoJob",
    name: "unverified",
    when: "The service offers the operation to verified accounts only. The job has failed; nothing was charged.",
    async arrange({ world, account }) {
      await account("unverified", { service: { enterpriseVerified: false } });
      await world.apply(manifest("image", of("unverified"), "unverified"));
    },
    advice: "Complete the verification at the service. Then delete the job, and apply it again:",
    commands: ["kubectl delete videojob unverified -n team-a"],
  },
  {
    reason: "RemoteTaskFailed",
    kind: "SpeechJob",
    name: "failed",
    when: "The task failed at the service. The message quotes the service.",
    arrange: ({ world }) => world.apply(manifest("hd", { text: "please fail", backoffLimit: 0 }, "failed")),
    advice: "Correct the spec if the service names a value. Then delete the job, and apply it again, which pays again:",
    commands: ["kubectl delete speechjob failed -n team-a"],
  },
  {
    reason: "BackoffLimitExceeded",
    kind: "SpeechJob",
    name: "failed-twice",
    when: "The task failed more often than `backoffLimit` allows.",
    arrange: ({ world }) => world.apply(manifest("hd", { text: "please fail", backoffLimit: 1 }, "failed-twice")),
    advice: "Correct the spec if the service names a value. Then delete the job, and apply it again, which pays again:",
    commands: ["kubectl delete speechjob failed-twice -n team-a"],
  },
  {
    reason: "DeadlineExceeded",
    kind: "SpeechJob",
    name: "slow",
    when: "`activeDeadlineSeconds` passed. The service cannot stop the task, which may still be charged.",
    async arrange({ world, account }) {
      await account("slow", { service: { speechTaskMs: LONG_MS } });
      await world.apply(manifest("hd", { ...of("slow"), activeDeadlineSeconds: 3 }, "slow"));
    },
    advice: "Delete the job, and apply it again with a later deadline, which pays again:",
    commands: ["kubectl delete speechjob slow -n team-a"],
  },
  {
    reason: "NoResult",
    kind: "SpeechJob",
    name: "empty",
    when: "The request succeeded without a result, or the URLs of a request without a task expired before a copy was complete. A job whose task shows no result stalls after ten minutes with this reason, and goes on when the task shows one.",
    async arrange({ world, account }) {
      const remote = await account("empty");
      const fault = { kind: "status", operation: "streamSpeech", status: 200, body: 'data: {"status":2}\n\n' };
      await remote.control("/__faults", fault);
      await world.apply(
        manifest("turbo", { ...of("empty"), stream: true, output: { storeRef: { name: "films" } } }, "empty"),
      );
    },
    advice: "Ask the support of the service for the result. Then delete the job:",
    commands: ["kubectl delete speechjob empty -n team-a"],
  },
  {
    reason: "ResultUnavailable",
    kind: "VideoJob",
    name: "unreadable",
    when: "The source refuses the URL of a result, and the task has no other one. The copy is repeated with backoff.",
    async arrange({ world, account }) {
      const remote = await account("unreadable");
      const videos = [{ video_url: `${remote.url}/files/none.mp4`, video_url_ttl: "3600", video_type: "mp4" }];
      const body = { task: { status: "TASK_STATUS_SUCCEED" }, videos };
      const fault = { kind: "status", operation: "getTaskResult", status: 200, times: 1_000, body };
      await remote.control("/__faults", fault);
      await world.apply(manifest("volumeStore", {}, "films"));
      await world.apply(
        manifest("image", { ...of("unreadable"), output: { storeRef: { name: "films" } } }, "unreadable"),
      );
    },
    advice: "Ask the support of the service for the result. To give it up:",
    commands: ["kubectl delete videojob unreadable -n team-a"],
  },
  {
    reason: "ResultTooLarge",
    kind: "VideoJob",
    name: "large",
    when: "A result is larger than `maxBytesPerJob` of the store.",
    async arrange({ world, account }) {
      await account("large", { service: { videoPaddingBytes: 12 << 20 } });
      await world.apply(manifest("volumeStore", { maxBytesPerJob: "10Mi" }, "small"));
      await world.apply(manifest("image", { ...of("large"), output: { storeRef: { name: "small" } } }, "large"));
    },
    commands: [
      `kubectl patch artifactstore small -n team-a --type=merge -p '{"spec":{"maxBytesPerJob":"100Mi"}}'`,
      reconcileNow("videojob large"),
    ],
  },
  {
    reason: "StoreNotReady",
    kind: "SpeechJob",
    name: "homeless",
    when: "The ArtifactStore of `output` does not exist or does not work. Nothing is sent before it does.",
    arrange: ({ world }) => world.apply(manifest("turbo", { output: { storeRef: { name: "results" } } }, "homeless")),
    advice:
      "Create or repair the store (`mooring explain artifactstore/results`), or delete the job, which costs nothing:",
    commands: ["kubectl delete speechjob homeless -n team-a"],
  },
  {
    reason: "WaitingForSource",
    kind: "VideoJob",
    name: "patient",
    condition: "Ready",
    when: "The job whose result `audioFrom` takes has not ended. This job continues when that one has succeeded. You need to act only if that one needs you, such as one that is suspended or Halted.",
    async arrange({ world }) {
      await world.apply(manifest("hd", { text: "held.", suspend: true }, "held-words"));
      await waitForCondition(world, "SpeechJob", "held-words", "Suspended");
      await world.apply(filmOf("patient", "SpeechJob", "held-words"));
    },
    advice: "Look at the other job (`mooring explain speechjob/held-words`). Here it is suspended:",
    commands: [`kubectl patch speechjob held-words -n team-a --type=merge -p '{"spec":{"suspend":false}}'`],
  },
  {
    reason: "SourceNotFound",
    kind: "VideoJob",
    name: "silent",
    when: "The job whose result `audioFrom` takes does not exist. Nothing is sent.",
    arrange: ({ world }) => world.apply(filmOf("silent", "SpeechJob", "no-words")),
    advice: "Create the job that the message names: this one continues. Or delete this one, which costs nothing:",
    commands: ["kubectl delete videojob silent -n team-a"],
  },
  {
    reason: "SourceFailed",
    kind: "VideoJob",
    name: "mute",
    when: "The job whose result `audioFrom` takes has failed, or its result cannot be read any more. Nothing is sent.",
    async arrange({ world }) {
      await world.apply(manifest("hd", { text: "please fail", backoffLimit: 0 }, "failed-words"));
      await waitForCondition(world, "SpeechJob", "failed-words", "Failed");
      await world.apply(filmOf("mute", "SpeechJob", "failed-words"));
    },
    advice:
      "Delete the failed job, and create it again with a correct spec, which pays again: this one continues. Or delete this one, which costs nothing:",
    commands: ["kubectl delete videojob mute -n team-a"],
  },
  {
    reason: "SourceCycle",
    kind: "VideoJob",
    name: "hen",
    when: "Jobs take each other's results in a circle, so that none of them can be sent.",
    async arrange({ world }) {
      await world.apply(filmOf("hen", "VideoJob", "egg"));
      await world.apply(filmOf("egg", "VideoJob", "hen"));
    },
    advice: "Delete one of the jobs, and create it with another `audioFrom`. Nothing was paid:",
    commands: ["kubectl delete videojob egg -n team-a"],
  },
];
