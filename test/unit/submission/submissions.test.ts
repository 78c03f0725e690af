import { describe, expect, it } from "vitest";
import type { Answer } from "../../../src/controllers/jobs/submit.ts";
import { createSubmissions, type Submissions } from "../../../src/submission/submissions.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";
import { entryOf } from "../../support/jobs.ts";

const answer: Answer = {
  kind: "Accepted",
  accepted: { taskID: "t" },
  entry: entryOf(),
  account: { kind: "Account", name: "default", baseURL: "https://api.example.com" },
};

/** A request that is sent and answered when told. */
function request(submissions: Submissions, account: string, uid: string, woken: string[] = []) {
  const answered = Promise.withResolvers<Answer>();
  let sent = () => {};
  const wake = () => woken.push(uid);
  const admitted = submissions.admit(account, uid, wake);
  if (admitted) {
    submissions.begin(account, uid, wake, (progress, signal) => {
      sent = progress.sent;
      const aborted = () => answered.resolve({ ...answer, kind: "Unknown", cause: String(signal.reason) });
      signal.addEventListener("abort", aborted, { once: true });
      return answered.promise;
    });
  }
  return { admitted, sent: () => sent(), answer: () => answered.resolve(answer) };
}
const create = () => createSubmissions({ clock: createFakeClock(), random: () => 0.5 });

describe("paid requests beside the reconciles", () => {
  it("are under way until their outcome is written down", async () => {
    const submissions = create();
    const woken: string[] = [];
    const one = request(submissions, "a", "one", woken);
    expect(submissions.find("one")).toMatchObject({ sent: false });
    one.sent();
    expect(submissions.find("one")).toMatchObject({ sent: true });
    one.answer();
    await settle();
    expect(woken).toEqual(["one"]);
    expect(submissions.find("one")?.answer).toBe(answer);
    submissions.forget("one");
    expect(submissions.find("one")).toBeUndefined();
  });

  it("wait for the rate limit sixteen at a time, of each account; the next come in the order of asking", () => {
    const submissions = create();
    const woken: string[] = [];
    const first = Array.from({ length: 20 }, (_, index) => request(submissions, "a", `u${index}`, woken));
    expect(first.map(({ admitted }) => admitted)).toEqual([...Array(16).fill(true), ...Array(4).fill(false)]);
    expect(request(submissions, "b", "other").admitted).toBe(true);
    first[3]?.sent();
    expect(woken).toEqual(["u16"]);
    // A later one does not overtake those who wait, and the one that was called keeps its place.
    expect(request(submissions, "a", "late", woken).admitted).toBe(false);
    expect(request(submissions, "a", "u16", woken).admitted).toBe(true);
    first[4]?.sent();
    expect(woken).toEqual(["u16", "u17"]);
  });

  it("that do not want their turn any more give it to the next", () => {
    const submissions = create();
    const woken: string[] = [];
    const first = Array.from({ length: 19 }, (_, index) => request(submissions, "a", `u${index}`, woken));
    submissions.leave("u17");
    first[0]?.sent();
    expect(woken).toEqual(["u16"]);
    submissions.leave("u16");
    expect(woken).toEqual(["u16", "u18"]);
  });

  it("rest longer each time that they are turned away, and as long as the service asks", () => {
    const clock = createFakeClock();
    const submissions = createSubmissions({ clock, random: () => 0.5 });
    const waits = [1, 2, 3].map(() => submissions.rest("one", undefined) - clock.now());
    expect(waits).toEqual([1_000, 2_000, 4_000]);
    expect(submissions.rest("one", 7_000)).toBe(clock.now() + 7_000);
    submissions.release("one");
    expect(submissions.restingUntil("one")).toBeUndefined();
  });

  it("are waited for at the end, and nothing more begins", async () => {
    const submissions = create();
    const one = request(submissions, "a", "one");
    let drained = false;
    const draining = submissions.drain(new AbortController().signal).then(() => {
      drained = true;
    });
    expect(request(submissions, "a", "two").admitted).toBe(false);
    one.answer();
    await settle();
    expect(drained).toBe(false); // the answer is not written down yet
    submissions.forget("one");
    await draining;
  });

  it("become unknown when the end does not wait for them", async () => {
    const submissions = create();
    request(submissions, "a", "one");
    const deadline = new AbortController();
    const draining = submissions.drain(deadline.signal);
    deadline.abort(new Error("the operator is stopping"));
    await settle();
    expect(submissions.find("one")?.answer).toMatchObject({ kind: "Unknown" });
    submissions.forget("one");
    await draining;
  });
});
