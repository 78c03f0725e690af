import { describe, expect, it } from "vitest";
import { createSanitizer } from "../../../../src/base/sanitizer.ts";
import { cleanWords } from "../../../../src/provider/errors.ts";
import { scriptedService } from "../../../support/service-account.ts";
import { endpointBody } from "../../simulator/start.ts";
import { failure, makeClient } from "./make-client.ts";

describe("what a request carries from a Secret", () => {
  const hidden = ["s3cr3t", "line one\nline two", "s3cr3t-and-more", "abc"];

  it.each([
    ["in a refusal", { status: 400, body: { reason: "INVALID", message: "envs[0] s3cr3t is not allowed" } }],
    ["as the code of a refusal", { status: 400, body: { code: "s3cr3t", message: "no" } }],
    ["over two lines", { status: 400, body: { message: "bad value: line one\nline two" } }],
    ["in a page", { status: 200, body: "<html>s3cr3t</html>" }],
    ["where the words are cut off", { status: 400, body: { message: `${"x".repeat(294)} s3cr3t` } }],
  ])("is not shown when the service quotes it %s", async (_name, answer) => {
    const service = await scriptedService(() => answer);
    const client = makeClient(service.url);
    const error = await failure(client.createEndpoint(endpointBody(), { hidden }));
    await client.close();
    expect(`${error.message} ${error.reason} ${error.code} ${String(error.cause)}`).not.toMatch(/s3c|line one/);
    expect(error.message.length).toBeGreaterThan(10);
  });

  it.each([
    ["an endpoint", '{"id":"ep-1","envs":[{"key":"TOKEN","value":"s3cr3t'],
    ["a list", ' [{"id":"ep-1","envs":[{"key":"TOKEN","value":"s3cr3t'],
  ])("is not shown when the answer with %s is torn", async (_name, body) => {
    const service = await scriptedService(() => ({ status: 200, body }));
    const client = makeClient(service.url);
    const error = await failure(client.getEndpoint({ endpointID: "ep-1" }));
    await client.close();
    expect(`${error.message} ${error.reason} ${String(error.cause)}`).not.toContain("s3cr3t");
    expect(error.message).toContain("it is not complete JSON");
  });

  it("is hidden whole where one value begins with another, and left alone where it is too short to be a secret", () => {
    expect(cleanWords("s3cr3t-and-more, s3cr3t, abc", createSanitizer({ hidden }))).toBe("(hidden), (hidden), abc");
  });
});
