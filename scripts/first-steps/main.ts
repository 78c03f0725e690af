/**
 * Follows the README as a new user does, in a clone of the last commit, and writes what happens with its times to docs/reference/first-steps.md:
 *
 *   npm run generate -- first-steps without-cluster
 *   npm run generate -- first-steps in-cluster --load "kind load docker-image" --kubeconfig PATH
 *
 * Each scenario runs twice: cold, with empty caches of npm, Go and Mooring, and warm, in another clone with the caches of the first run.
 * `--docker-arg` goes to `npm run release:dry`. kubectl and helm are those of PATH. With `--no-go-caches`, both runs use the Go caches of
 * the user, and the cold run does not take the minutes of a whole build of Kubernetes.
 */
import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { homedir, hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { withoutTraces } from "../recording/cast.ts";
import { inCluster, type Scenario, type Step, withoutCluster } from "./scenarios.ts";
import { type Ran, replaceTranscript, transcriptSection } from "./transcript.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const PAGE = join(ROOT, "docs/reference/first-steps.md");

const { values, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    load: { type: "string", default: "kind load docker-image" },
    kubeconfig: { type: "string" },
    "go-caches": { type: "boolean", default: true },
    "docker-arg": { type: "string", multiple: true, default: [] },
  },
});

const folder = await mkdtemp(join(tmpdir(), "mooring-first-steps-"));
try {
  const cold = await runScenario(scenarioOf(true), "cold");
  const warm = await runScenario(scenarioOf(false), "warm");
  const page = await readFile(PAGE, "utf8");
  await writeFile(PAGE, replaceTranscript(page, scenarioOf(false).name, transcriptSection({ cold, warm })));
} finally {
  // Go makes its modules read-only.
  await shell("chmod -R u+w .", { cwd: folder, env: process.env });
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

function scenarioOf(isCold: boolean): Scenario {
  const [name] = positionals;
  if (name === "without-cluster") return withoutCluster;
  if (name !== "in-cluster") throw new Error(`${name ?? "no scenario"}: use without-cluster or in-cluster`);
  const all = [...values["docker-arg"], ...(isCold ? ["--no-cache"] : [])].map((one) => ` --docker-arg=${one}`);
  return inCluster(all.length === 0 ? "" : ` --${all.join("")}`);
}

type Place = { cwd: string; env: NodeJS.ProcessEnv };

/** Runs the commands in a clone of their own. `cold` and `warm` share their caches. */
async function runScenario({ steps, cleanUp }: Scenario, run: string): Promise<Ran[]> {
  const cwd = join(folder, run);
  await shell(`git clone --quiet "${ROOT}" "${cwd}"`, { cwd: folder, env: process.env });
  // Changes that are not yet committed count too.
  for (const changed of await changedFiles()) await cp(join(ROOT, changed), join(cwd, changed), { recursive: true });
  const place: Place = { cwd, env: environment() };
  const ended: (() => Promise<void>)[] = [];
  const ran: Ran[] = [];
  try {
    for (const step of steps) {
      const one = await runStep(step, place);
      ended.push(one.end);
      ran.push({ command: step.command, seconds: one.seconds, output: cleaned(one.output, cwd) });
      process.stderr.write(`${run}: ${step.command}: ${one.seconds.toFixed(1)} s\n`);
      const [, kubeconfig] = /export KUBECONFIG=(\S+)/.exec(one.output) ?? [];
      if (kubeconfig !== undefined)
        Object.assign(place.env, { KUBECONFIG: kubeconfig, PATH: `${cwd}/bin:${place.env.PATH}` });
    }
    return ran;
  } finally {
    for (const end of ended) await end();
    for (const command of cleanUp) await shell(command, place);
  }
}

async function changedFiles(): Promise<string[]> {
  const listed = await shell("git diff --name-only --diff-filter=d HEAD && git ls-files --others --exclude-standard", {
    cwd: ROOT,
    env: process.env,
  });
  return listed.output.split("\n").filter((path) => path !== "");
}

/** That of this process, with caches of their own, and without what `npm run` and npm's configuration of this user add. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE$|INIT_CWD$|USE_EXISTING_CLUSTER$|KUBECONFIG$)/.test(name),
  );
  const caches = join(folder, "caches");
  return {
    ...Object.fromEntries(own),
    // `npm run` puts the programs of node_modules before those of the user.
    PATH: (process.env.PATH ?? "")
      .split(":")
      .filter((path) => !path.includes("node_modules"))
      .join(":"),
    ...(values.kubeconfig === undefined ? {} : { KUBECONFIG: values.kubeconfig }),
    LOAD_IMAGE: values.load,
    NO_COLOR: "1",
    npm_config_cache: join(caches, "npm"),
    npm_config_userconfig: "/dev/null",
    ...(values["go-caches"] ? { GOPATH: join(caches, "go") } : {}),
    GOCACHE: join(values["go-caches"] ? caches : (process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache")), "go-build"),
    XDG_CACHE_HOME: join(caches, "user"),
  };
}

type RunningStep = { seconds: number; output: string; end(): Promise<void> };

/** Returns when the command has ended, or has printed what `until` waits for. @throws Error when it fails */
function runStep({ command, until }: Step, place: Place): Promise<RunningStep> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-c", command], { ...place, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const closed = new Promise<void>((done) => child.once("close", () => done()));
    const end = async () => {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGINT");
      await closed;
    };
    const done = () => resolve({ seconds: (performance.now() - started) / 1000, output, end });
    const collect = (chunk: Buffer) => {
      output += chunk;
      // The lines after the text belong to it.
      if (until?.test(output) === true) setTimeout(done, 500);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) done();
      else reject(new Error(`${command}: ended with ${code}\n${output.slice(-4000)}`));
    });
  });
}

async function shell(command: string, place: Place): Promise<RunningStep> {
  return runStep({ command }, place);
}

/** Without paths and names of this machine. */
function cleaned(output: string, cwd: string): string {
  const [{ text } = { text: "" }] = withoutTraces(
    [{ delay: 0, text: output }],
    [
      [cwd, "~/mooring"],
      [folder, "~"],
      [ROOT, "."],
      [tmpdir(), "$TMPDIR"],
      [homedir(), "~"],
      [hostname(), "host"],
    ],
  );
  return text;
}
