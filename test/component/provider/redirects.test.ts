import { expect, it } from "vitest";
import { scriptedService, sessionAt } from "../../support/service-account.ts";

it.each([301, 302, 303, 307, 308])(
  "a redirect (%d) is not followed: the API key goes to the base URL only",
  async (status) => {
    const elsewhere = await scriptedService(() => ({ body: {} }));
    const service = await scriptedService(() => ({ status, headers: { location: `${elsewhere.url}/collect` } }));
    await expect(sessionAt(service.url).probe(AbortSignal.timeout(60_000))).rejects.toThrow(
      `answered ${status}, a redirect, which is not followed`,
    );
    expect(service.requests).toMatchObject([{ authorization: "Bearer sk-test" }]);
    expect(elsewhere.requests).toEqual([]);
  },
);
