import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import type { Guarded } from "../cluster/guarded.ts";
import { withProgress } from "../cluster/progress.ts";

/** What one build gets. `program` is the toolchain's, and `source` and `output` are folders: `output` is empty. */
export type Building = {
  name: string;
  program: string;
  source: string;
  output: string;
  guarded: Guarded;
  log: (line: string) => void;
};

/** A program of the machine that builds tools, and where to get it. */
export type Toolchain = { program: string; site: string; build(building: Building): Promise<void> };

/** Builds a package of a Go module. The program has the name of the tool. */
export function goToolchain(goPackage: string): Toolchain {
  return {
    program: "go",
    site: "https://go.dev/dl",
    async build({ name, program, source, output, guarded, log }) {
      const env = { CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOWORK: "off", GOTMPDIR: guarded.dir };
      const args = ["build", "-v", "-trimpath", "-ldflags", "-s -w", "-o", join(output, name), goPackage];
      const lines = async () => (await guarded.output("go-build")).split("\n").length - 1;
      await withProgress(
        log,
        async () => `building ${name}: ${await lines()} modules and packages so far`,
        guarded.run("go-build", program, args, { cwd: source, env }),
      );
    },
  };
}

/** Builds a Rust package that has a program with the name of the tool. */
export const CARGO: Toolchain = {
  program: "cargo",
  site: "https://rustup.rs",
  async build({ name, program, source, output, guarded, log }) {
    const target = join(guarded.dir, "target");
    const args = ["build", "--release", "--locked", "--target-dir", target];
    const crates = async () => (await guarded.output("cargo-build")).match(/Compiling /g)?.length ?? 0;
    await withProgress(
      log,
      async () => `building ${name}: ${await crates()} crates so far`,
      guarded.run("cargo-build", program, args, { cwd: source }),
    );
    await copyFile(join(target, "release", name), join(output, name));
  },
};

/** Installs `requirements.txt` into a virtual environment, which is the output. Its `bin/python` works wherever the folder is. */
export const PYTHON: Toolchain = {
  program: "python3",
  site: "https://www.python.org/downloads",
  async build({ program, source, output, guarded }) {
    await guarded.run("venv", program, ["-m", "venv", output]);
    const python = join(output, "bin/python");
    const strict = ["--require-hashes", "--only-binary=:all:", "--disable-pip-version-check"];
    const args = ["-m", "pip", "install", ...strict, "--requirement", join(source, "requirements.txt")];
    await guarded.run("pip", python, args);
  },
};
