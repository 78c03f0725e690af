import { expect, it } from "vitest";
import { createServiceClient } from "../../src/provider/client.ts";
import { createGate } from "../../src/provider/http/gate.ts";
import { createTransport } from "../../src/provider/http/transport.ts";
import { failure, KEY } from "../component/provider/http/make-client.ts";
import { createFakeClock, until } from "../support/fake-clock.ts";
import { scriptedService } from "../support/service-account.ts";

const HOUR = 3_600_000;

it.each(["999999999", "99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])(
  "one 429 with Retry-After %s pauses one operation for an hour at most, and no other operation",
  async (header) => {
    const clock = createFakeClock();
    let limited = true;
    const service = await scriptedService(({ path }) =>
      limited && path.includes("task-result")
        ? { status: 429, headers: { "retry-after": header } }
        : { body: { task: { status: "S" }, maxWorkerNum: 1 } },
    );
    const transport = createTransport({ baseURL: service.url, apiKey: () => KEY });
    const gate = createGate({ clock, random: () => 0.5, requestsPerSecond: 100, burst: 100 });
    const client = createServiceClient({ transport, clock, gate });

    expect((await failure(client.getTaskResult({ taskID: "t" }))).retryAfterMs).toBe(HOUR);
    limited = false;
    await client.getEndpointLimits();

    let polled = false;
    const next = client.getTaskResult({ taskID: "t" }).then(() => {
      polled = true;
    });
    await clock.advance(HOUR / 2);
    expect(polled).toBe(false);
    await clock.advance(HOUR);
    await until(() => polled, { clock });
    await next;
    await transport.close();
  },
);
