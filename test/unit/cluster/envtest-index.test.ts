import { describe, expect, test } from "vitest";
import { chooseArchive, parseEnvtestIndex } from "../../../tools/cluster/envtest-index.ts";

const entry = (version: string, machine: string) =>
  `    envtest-${version}-${machine}.tar.gz:\n      hash: hash-${version}-${machine}\n      selfLink: https://example.test/${version}/${machine}\n`;
const release = (version: string, ...machines: string[]) =>
  `  ${version}:\n${machines.map((machine) => entry(version, machine)).join("")}`;

const text = `releases:\n${[
  release("v1.36.2", "linux-amd64", "darwin-arm64"),
  release("v1.36.10", "linux-amd64"),
  release("v1.37.0-beta.0", "linux-amd64"),
  release("v1.37.0", "linux-amd64", "linux-s390x"),
  release("v1.9.0", "linux-amd64"),
].join("")}`;

describe("envtest's index", () => {
  const index = parseEnvtestIndex(text);

  test.each([
    {
      name: "the newest patch of the minor version, compared as numbers",
      minor: "1.36",
      os: "linux",
      arch: "amd64",
      version: "v1.36.10",
    },
    { name: "the newest patch that has the machine", minor: "1.36", os: "darwin", arch: "arm64", version: "v1.36.2" },
    { name: "else the newest finished release", minor: "1.35", os: "linux", arch: "amd64", version: "v1.37.0" },
    { name: "else the newest that has the machine", minor: "1.36", os: "linux", arch: "s390x", version: "v1.37.0" },
    { name: "not 1.3 for 1.36", minor: "1.3", os: "linux", arch: "amd64", version: "v1.37.0" },
  ])("$name", ({ minor, os, arch, version }) => {
    const archive = chooseArchive(index, { minor, os, arch });
    expect(archive).toEqual({
      version,
      file: `envtest-${version}-${os}-${arch}.tar.gz`,
      url: `https://example.test/${version}/${os}-${arch}`,
      sha512: `hash-${version}-${os}-${arch}`,
    });
  });

  test("has nothing for an unknown machine", () => {
    expect(chooseArchive(index, { minor: "1.36", os: "plan9", arch: "amd64" })).toBeUndefined();
  });

  test.each(["", "releases: 1", "releases: {v1.36.0: {a.tar.gz: {hash: x}}}", "<html>"])("refuses %j", (broken) => {
    expect(() => parseEnvtestIndex(broken)).toThrow();
  });
});
