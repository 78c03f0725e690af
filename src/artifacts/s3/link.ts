import { GetObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { ArtifactError } from "../errors.ts";
import type { StoredLink } from "../types.ts";
import type { S3Bucket } from "./bucket.ts";
import { describeObject } from "./verify.ts";

/** How long a signed URL is valid: as long as a URL of the service (interface: "Speech URL validity"). A session token can end it earlier. */
const VALID_SECONDS = 24 * 3_600;

/** An object by its URL. The bucket is asked only whether the object exists. @throws ArtifactError NotFound */
export async function linkOf(bucket: S3Bucket, key: string, signal: AbortSignal): Promise<StoredLink> {
  const uri = `s3://${bucket.name}/${key}`;
  const head = await bucket.call(key, signal, () => describeObject(bucket, key, signal));
  const version = head?.ChecksumSHA256 ?? head?.ETag;
  if (version === undefined) {
    throw new ArtifactError("NotFound", `${uri} does not exist, or the credentials of the store may not read it`);
  }
  return { uri, version, url: () => bucket.call(key, signal, () => signedURL(bucket, key)) };
}

/** The parts of a request that has been made and not sent. */
type Unsent = {
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  query?: Record<string, string | string[] | null>;
  headers: Record<string, string>;
};
type Presigner = { presign(request: Unsent, options: { expiresIn: number }): Promise<Unsent> };

/** The URL of a GET, signed in its query. Nothing is sent. */
async function signedURL({ client, name }: S3Bucket, key: string): Promise<string> {
  const command = new GetObjectCommand({ Bucket: name, Key: key });
  const stack = client.middlewareStack.clone();
  let signed: Unsent | undefined;
  const sign = (_send: unknown, context: object) => async (args: { request: Unsent }) => {
    const signer = await signerOf(client, context);
    const { request } = args;
    // Only what the reader of the URL sends can be signed.
    const headers = { host: request.headers["host"] ?? request.hostname, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
    signed = await signer.presign(Object.assign(request, { headers }), { expiresIn: VALID_SECONDS });
    return { response: {}, output: { $metadata: {} } };
  };
  stack.addRelativeTo(sign as never, { name: "signURL", relation: "before", toMiddleware: "awsAuthMiddleware" });
  await command.resolveMiddleware(stack, client.config, {})({ input: command.input });
  if (signed === undefined) throw new Error(`the URL of s3://${name}/${key} was not signed`);
  return urlOf(signed);
}

/** The signer of the client, for the region and the service that its middleware found. */
async function signerOf({ config }: S3Client, context: object): Promise<Presigner> {
  const { signer } = config;
  const schemes: readonly never[] = Reflect.get(context, "authSchemes") ?? [];
  return (typeof signer === "function" ? await signer(schemes[0]) : signer) as unknown as Presigner;
}

function urlOf({ protocol, hostname, port, path, query = {} }: Unsent): string {
  const url = new URL(`${protocol}//${hostname}${port === undefined ? "" : `:${port}`}${path}`);
  const encoded = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  url.search = Object.entries(query)
    .flatMap(([name, value]) => [value].flat().map((one) => `${encoded(name)}=${encoded(one ?? "")}`))
    .join("&");
  return url.href;
}
