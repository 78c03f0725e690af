import { parse } from "yaml";
import { z } from "zod";

const indexSchema = z.object({
  releases: z.record(z.string(), z.record(z.string(), z.object({ hash: z.string(), selfLink: z.string() }))),
});

/** The index of envtest's archives: release ("v1.36.2") -> file name -> SHA-512 in hex and address. */
export type EnvtestIndex = z.infer<typeof indexSchema>;

/** One archive to download. `version` is the release, which is also the version of the Kubernetes in it. */
export type EnvtestArchive = { version: string; file: string; url: string; sha512: string };

/** Reads the text of the index (YAML). Rejects anything of another shape with a ZodError. */
export function parseEnvtestIndex(text: string): EnvtestIndex {
  return indexSchema.parse(parse(text));
}

/**
 * The newest finished release of Kubernetes' minor version `minor` ("1.36") for the machine, else the newest of all; undefined when the
 * index has none for this kind of machine. `os` and `arch` are Go's names.
 */
export function chooseArchive(
  index: EnvtestIndex,
  { minor, os, arch }: { minor: string; os: string; arch: string },
): EnvtestArchive | undefined {
  const archives = Object.entries(index.releases)
    .filter(([version]) => /^v\d+\.\d+\.\d+$/.test(version))
    .sort(([a], [b]) => b.localeCompare(a, "en", { numeric: true }))
    .flatMap(([version, files]) => {
      const file = `envtest-${version}-${os}-${arch}.tar.gz`;
      const entry = files[file];
      return entry === undefined ? [] : [{ version, file, url: entry.selfLink, sha512: entry.hash }];
    });
  return archives.find(({ version }) => version.startsWith(`v${minor}.`)) ?? archives[0];
}
