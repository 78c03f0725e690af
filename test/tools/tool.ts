import { createHash, randomBytes } from "node:crypto";
import { access, constants, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram, pathFolders } from "../cluster/binaries.ts";
import { cacheFolder } from "../cluster/cache.ts";
import { runProgram } from "../cluster/run-program.ts";

/** Programs that tests use besides the control plane, each with a Go module here that pins it, and the package in it. */
const PACKAGES = {
  glua: "github.com/yuin/gopher-lua/cmd/glua",
  helm: "helm.sh/helm/v4/cmd/helm",
  kstatus: "mooring/tools/kstatus",
  promtool: "github.com/prometheus/prometheus/cmd/promtool",
} as const;
export type Tool = keyof typeof PACKAGES;

/**
 * Path of a program: the machine's own, else one built from its Go module, which takes minutes once and is kept in the user's cache folder.
 * @throws Error when there is neither the program nor Go
 */
export async function tool(
  name: Tool,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<string> {
  const folders = pathFolders(env.PATH);
  // A program whose source is here is nobody else's.
  const own = PACKAGES[name].startsWith("mooring/") ? undefined : await findProgram(name, folders);
  if (own !== undefined) return own;
  const folder = fileURLToPath(new URL(`./${name}`, import.meta.url));
  const source = await Promise.all((await readdir(folder)).sort().map((file) => readFile(join(folder, file))));
  const key = createHash("sha256").update(Buffer.concat(source)).digest("hex").slice(0, 16);
  const path = join(cacheFolder(env), "..", "tools", `${name}-${key}-${process.platform}-${process.arch}`);
  if (
    await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
  )
    return path;
  const go = await findProgram("go", folders);
  if (go === undefined) throw new Error(`there is no ${name} on PATH, and no go to build it with (https://go.dev/dl)`);
  process.stderr.write(`building ${name} from its Go module: some minutes, once (kept in the user's cache folder)\n`);
  await mkdir(join(path, ".."), { recursive: true });
  const partial = `${path}.${randomBytes(4).toString("hex")}`;
  try {
    const build = ["build", "-trimpath", "-ldflags", "-s -w", "-o", partial, PACKAGES[name]];
    await runProgram(go, build, {
      cwd: folder,
      env: { ...env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOWORK: "off" },
    });
    await rename(partial, path);
  } finally {
    await rm(partial, { force: true });
  }
  return path;
}
