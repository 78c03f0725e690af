import { describe, expect, it } from "vitest";
import { createTokenReviewGate } from "../../../src/runtime/metrics-auth.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { type Answer, capturedLog, failure, type ScriptedApi, scriptedApi } from "../../support/scripted-api-server.ts";

const user = { username: "system:serviceaccount:team:scraper", uid: "7", groups: ["a"], extra: { k: ["v"] } };
const AUTHENTICATED: Answer = { status: 201, body: { metadata: {}, status: { authenticated: true, user } } };
const UNKNOWN: Answer = { status: 201, body: { metadata: {}, status: { error: "invalid bearer token" } } };
const allowed = (yes: boolean): Answer => ({ status: 201, body: { metadata: {}, status: { allowed: yes } } });

async function gate(token: Answer | Promise<Answer>, access: Answer = allowed(true)) {
  const clock = createFakeClock();
  const { log, lines } = capturedLog();
  const api = await scriptedApi(({ path }) => (path.endsWith("/tokenreviews") ? token : access));
  const reviewed = createTokenReviewGate({ client: api.client, clock, log });
  const ask = (authorization: string | undefined, access = { path: "/metrics", verb: "get" }) =>
    reviewed(authorization, access);
  return { api, clock, lines, ask };
}
const paths = ({ requests }: ScriptedApi) => requests.map(({ path }) => path.split("/").at(-1));

describe("a scrape", () => {
  it.each([undefined, "", "Basic dTpw", "Bearer", "Bearer  ", "token"])(
    "with %j is not asked about",
    async (header) => {
      const { api, ask } = await gate(AUTHENTICATED);
      expect(await ask(header)).toMatchObject({ status: 401, headers: { "www-authenticate": "Bearer" } });
      expect(api.requests).toEqual([]);
    },
  );

  it("of a known user with permission is accepted, after a TokenReview and a SubjectAccessReview", async () => {
    const { api, ask } = await gate(AUTHENTICATED);
    expect(await ask("Bearer s3cret")).toBeUndefined();
    expect(api.requests.map(({ method, path, body }) => ({ method, path, body }))).toEqual([
      {
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/tokenreviews",
        body: expect.objectContaining({ kind: "TokenReview", spec: { token: "s3cret" } }),
      },
      {
        method: "POST",
        path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        body: expect.objectContaining({
          kind: "SubjectAccessReview",
          spec: {
            user: user.username,
            uid: "7",
            groups: ["a"],
            extra: { k: ["v"] },
            nonResourceAttributes: { path: "/metrics", verb: "get" },
          },
        }),
      },
    ]);
  });

  it("of an unknown user is 401; of a user without permission it is 403 with the name", async () => {
    const nobody = await gate(UNKNOWN);
    expect(await nobody.ask("Bearer x")).toMatchObject({ status: 401 });
    expect(paths(nobody.api)).toEqual(["tokenreviews"]);
    const somebody = await gate(AUTHENTICATED, allowed(false));
    expect(await somebody.ask("Bearer x")).toEqual({
      status: 403,
      body: 'Forbidden: "system:serviceaccount:team:scraper" may not get the non-resource URL /metrics\n',
    });
  });

  it.each<{ name: string; token: Answer; access: Answer; ms: number }>([
    { name: "let in for 10 s", token: AUTHENTICATED, access: allowed(true), ms: 10_000 },
    { name: "unknown for 2 s", token: UNKNOWN, access: allowed(true), ms: 2_000 },
    { name: "forbidden for 2 s", token: AUTHENTICATED, access: allowed(false), ms: 2_000 },
  ])("is $name without another question, by its own token alone", async ({ token, access, ms }) => {
    const { api, clock, ask } = await gate(token, access);
    const first = await ask("Bearer a");
    const asked = api.requests.length;
    await clock.advance(ms - 1);
    expect(await ask("Bearer a")).toEqual(first);
    expect(api.requests).toHaveLength(asked);
    await clock.advance(1);
    await ask("Bearer a");
    expect(api.requests).toHaveLength(2 * asked);
    await ask("Bearer b");
    expect(api.requests).toHaveLength(3 * asked);
  });

  it("is 503 while the API server does not answer, is asked about again, and its token is never logged", async () => {
    const { api, lines, ask } = await gate(failure(500, "InternalError", "away"));
    expect(await ask("Bearer s3cret")).toMatchObject({ status: 503 });
    expect(await ask("Bearer s3cret")).toMatchObject({ status: 503 });
    expect(api.requests).toHaveLength(2);
    expect(lines).toHaveLength(2);
    expect(JSON.stringify(lines)).not.toContain("s3cret");
  });

  it("waits for the same token's review, and is 429 beyond four others", async () => {
    const answer = Promise.withResolvers<Answer>();
    const { api, ask } = await gate(answer.promise);
    const four = ["a", "b", "c", "d"].map((token) => ask(`Bearer ${token}`));
    const same = ask("Bearer a");
    expect(await ask("Bearer e")).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    answer.resolve(UNKNOWN);
    for (const refusal of await Promise.all([...four, same])) expect(refusal).toMatchObject({ status: 401 });
    expect(api.requests).toHaveLength(4);
    expect(await ask("Bearer e")).toMatchObject({ status: 401 });
  });

  it("with permission for the metrics is asked about again for another page", async () => {
    const { api, ask } = await gate(AUTHENTICATED);
    await ask("Bearer a");
    await ask("Bearer a", { path: "/debug/flags/v", verb: "put" });
    const bodies = api.requests.map(({ body }) => body).filter((body) => JSON.stringify(body).includes("nonResource"));
    expect(bodies).toMatchObject([
      { spec: { nonResourceAttributes: { path: "/metrics", verb: "get" } } },
      { spec: { nonResourceAttributes: { path: "/debug/flags/v", verb: "put" } } },
    ]);
  });
});
