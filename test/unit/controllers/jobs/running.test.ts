import { describe, expect, it } from "vitest";
import { createRunningRequests } from "../../../../src/controllers/jobs/running.ts";
import type { RequestOutcome } from "../../../../src/controllers/jobs/types.ts";
import { createSpendingAdmission } from "../../../../src/submission/admission.ts";
import { NO_ALLOWANCE } from "../../../../src/submission/allowance.ts";
import { createFakeClock, settle } from "../../../support/fake-clock.ts";
import { recordOf } from "../../../support/jobs.ts";

const answer: RequestOutcome = {
  kind: "Accepted",
  accepted: { taskID: "t" },
  record: recordOf(),
};

function create(clock = createFakeClock()) {
  const admission = createSpendingAdmission({ clock, allowance: () => NO_ALLOWANCE, inFlight: () => [] });
  return { clock, admission, running: createRunningRequests({ clock, random: () => 0.5, admission }) };
}
type World = ReturnType<typeof create>;

/** A request that is sent and answered when told. */
function request({ admission, running }: World, account: string, uid: string, woken: string[] = []) {
  const answered = Promise.withResolvers<RequestOutcome>();
  let sent = () => {};
  let opening = (_opens: boolean) => {};
  const wake = () => woken.push(uid);
  const work = { uid, namespace: "team", operation: "submitSpeech" } as const;
  const admitted = admission.request(account, work, wake).kind === "Admitted";
  if (admitted) {
    running.begin(uid, wake, (progress, signal) => {
      sent = progress.sent;
      opening = progress.opening;
      const aborted = () => answered.resolve({ ...answer, kind: "Unknown", cause: String(signal.reason) });
      signal.addEventListener("abort", aborted, { once: true });
      return answered.promise;
    });
  }
  return {
    admitted,
    opening: (opens: boolean) => opening(opens),
    sent: () => sent(),
    answer: () => answered.resolve(answer),
  };
}

describe("paid requests beside the reconciles", () => {
  it("are under way until their outcome is written down", async () => {
    const world = create();
    const woken: string[] = [];
    const one = request(world, "a", "one", woken);
    expect(world.running.find("one")).toMatchObject({ sent: false });
    one.sent();
    expect(world.running.find("one")).toMatchObject({ sent: true });
    one.answer();
    await settle();
    expect(woken).toEqual(["one"]);
    expect(world.running.find("one")?.answer).toBe(answer);
    world.running.forget("one");
    expect(world.running.find("one")).toBeUndefined();
  });

  it("wait for the rate limit sixteen at a time, of each account; the next come in the order of asking", () => {
    const world = create();
    const woken: string[] = [];
    const first = Array.from({ length: 20 }, (_, index) => request(world, "a", `u${index}`, woken));
    expect(first.map(({ admitted }) => admitted)).toEqual([...Array(16).fill(true), ...Array(4).fill(false)]);
    expect(request(world, "b", "other").admitted).toBe(true);
    first[3]?.sent();
    expect(woken).toEqual(["u16"]);
    // A later one does not overtake those who wait, and the one that was called keeps its place.
    expect(request(world, "a", "late", woken).admitted).toBe(false);
    expect(request(world, "a", "u16", woken).admitted).toBe(true);
    first[4]?.sent();
    expect(woken).toEqual(["u16", "u17"]);
  });

  it("that wait until their artifact is open keep no other from the rate limit, and 256 are under way at a time", () => {
    const world = create();
    for (let i = 0; i < 256; i++) {
      const one = request(world, "a", `u${i}`);
      expect(one.admitted).toBe(true);
      expect(world.running.find(`u${i}`)?.opens).toBeUndefined();
      one.opening(true);
      expect(world.running.find(`u${i}`)?.opens).toBe(true);
    }
    const work = { uid: "late", namespace: "team", operation: "submitSpeech" } as const;
    const wait = { kind: "Waiting", reason: "ConcurrencyLimited", message: expect.stringContaining("256 requests") };
    expect(world.admission.request("a", work, () => {})).toMatchObject(wait);
  });

  it("whose artifact is open wait for the rate limit again", () => {
    const world = create();
    for (let i = 0; i < 16; i++) {
      const one = request(world, "a", `u${i}`);
      one.opening(true);
      one.opening(false);
    }
    const work = { uid: "late", namespace: "team", operation: "submitSpeech" } as const;
    expect(world.admission.request("a", work, () => {})).toMatchObject({ kind: "Waiting", reason: "RateLimited" });
  });

  it("that do not want their turn any more give it to the next", () => {
    const world = create();
    const woken: string[] = [];
    const first = Array.from({ length: 19 }, (_, index) => request(world, "a", `u${index}`, woken));
    world.admission.withdraw("u17");
    first[0]?.sent();
    expect(woken).toEqual(["u16"]);
    world.admission.withdraw("u16");
    expect(woken).toEqual(["u16", "u18"]);
  });

  it("rest longer each time that they are turned away, and as long as the service asks", () => {
    const { clock, running } = create();
    const waits = [1, 2, 3].map(() => running.backOff("one", undefined) - clock.now());
    expect(waits).toEqual([1_000, 2_000, 4_000]);
    expect(running.backOff("one", 7_000)).toBe(clock.now() + 8_000); // never less than the own backoff
    expect(running.backOff("one", 60_000)).toBe(clock.now() + 60_000);
    running.resetBackoff("one");
    expect(running.backoffUntil("one")).toBeUndefined();
  });

  it("are waited for at the end, and nothing more begins", async () => {
    const world = create();
    const one = request(world, "a", "one");
    one.sent();
    let drained = false;
    const draining = world.running.drain(new AbortController().signal).then(() => {
      drained = true;
    });
    expect(request(world, "a", "two").admitted).toBe(false);
    one.answer();
    await settle();
    expect(drained).toBe(false); // the answer is not written down yet
    world.running.forget("one");
    await draining;
  });

  it("do not delay the end by more than 30 s when nobody writes their outcome down: the next process finds them unknown", async () => {
    const world = create();
    const one = request(world, "a", "one");
    one.sent();
    let drained = false;
    const draining = world.running.drain(new AbortController().signal).then(() => {
      drained = true;
    });
    await world.clock.advance(60_000);
    expect(drained).toBe(false); // no answer yet
    one.answer();
    await world.clock.advance(29_999);
    expect(drained).toBe(false);
    await world.clock.advance(1);
    await draining;
  });

  it("of a reconcile that ends after the end has begun are withdrawn before they are sent", async () => {
    const { running } = create();
    await running.drain(new AbortController().signal);
    const signals: AbortSignal[] = [];
    running.begin(
      "admitted before",
      () => {},
      (_progress, signal) => {
        signals.push(signal);
        return Promise.resolve(answer);
      },
    );
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(String(signals[0]?.reason)).toContain("the operator is stopping");
  });

  it("are withdrawn at the end while no byte has left: they do not delay it", async () => {
    const world = create();
    request(world, "a", "waits for its turn");
    const sent = request(world, "a", "sent");
    sent.sent();
    const draining = world.running.drain(new AbortController().signal);
    await settle();
    expect(world.running.find("waits for its turn")?.answer).toBeDefined();
    expect(world.running.find("sent")?.answer).toBeUndefined();
    sent.answer();
    await settle();
    world.running.forget("waits for its turn");
    world.running.forget("sent");
    await draining;
  });

  it("become unknown when the end does not wait for them", async () => {
    const world = create();
    request(world, "a", "one").sent();
    const deadline = new AbortController();
    const draining = world.running.drain(deadline.signal);
    deadline.abort(new Error("the operator is stopping"));
    await settle();
    expect(world.running.find("one")?.answer).toMatchObject({ kind: "Unknown" });
    world.running.forget("one");
    await draining;
  });

  it("have a signal of their own, so that what listens to it goes with the request", async () => {
    const { running } = create();
    const signals: AbortSignal[] = [];
    const begin = (uid: string, answered: Promise<RequestOutcome>) =>
      running.begin(
        uid,
        () => {},
        (_progress, signal) => {
          signals.push(signal);
          return answered;
        },
      );
    begin("answered", Promise.resolve(answer));
    begin("under way", new Promise(() => {}));
    await settle();
    const draining = running.drain(AbortSignal.abort(new Error("the operator is stopping")));
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
    running.forget("answered");
    running.forget("under way");
    await draining;
  });
});
