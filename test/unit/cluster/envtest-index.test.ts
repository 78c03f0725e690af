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
    ["the newest patch of the minor version, compared as numbers", "1.36", "linux", "amd64", "v1.36.10"],
    ["the newest patch that has the machine", "1.36", "darwin", "arm64", "v1.36.2"],
    ["else the newest finished release", "1.35", "linux", "amd64", "v1.37.0"],
    ["else the newest that has the machine", "1.36", "linux", "s390x", "v1.37.0"],
    ["not 1.3 for 1.36", "1.3", "linux", "amd64", "v1.37.0"],
  ])("%s", (_, minor, os, arch, version) => {
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
