import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** The page's files by name, which the build puts beside the bundle. */
export type Assets = ReadonlyMap<string, { type: string; body: Buffer }>;

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const FOLDER = new URL("./ui/", import.meta.url);

/** @throws Error of one line when this is not a build */
export async function readAssets(): Promise<Assets> {
  try {
    const names = (await readdir(FOLDER)).filter((name) => extname(name) in TYPES);
    const files = names.map(async (name) => {
      const body = await readFile(new URL(name, FOLDER));
      return [name, { type: TYPES[extname(name)] ?? "", body }] as const;
    });
    return new Map(await Promise.all(files));
  } catch (error) {
    const folder = fileURLToPath(FOLDER);
    throw new Error(`${folder} does not have the files of the web page: run npm run build, and use dist/mooring.mjs`, {
      cause: error,
    });
  }
}

/** The page, and its Content-Security-Policy. Only the waveform's style sheet needs the nonce. */
export function indexPage(): { html: string; policy: string } {
  const nonce = randomBytes(16).toString("base64");
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    // The design system draws marks of checkboxes and selects as data.
    "img-src 'self' data:",
    "media-src 'self' blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Mooring</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="style.css">
<script type="module" src="app.js" nonce="${nonce}"></script>
</head>
<body>
<div id="app"></div>
<noscript>Mooring's web page needs JavaScript. The same is in: mooring status, mooring explain.</noscript>
</body>
</html>
`;
  return { html, policy };
}
