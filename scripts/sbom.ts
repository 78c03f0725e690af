import { readFile } from "node:fs/promises";
import { join } from "node:path";

type Package = { name: string; version: string; license?: string };

/** The folder of the package that a bundled file belongs to; undefined for files of Mooring. */
export function packageFolder(path: string): string | undefined {
  return /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
}

/**
 * A CycloneDX 1.6 bill of materials of a bundle. The same files give the same text: it has no times and no serial number.
 * @param inputs paths of the bundled files, from the project's root
 */
export async function billOfMaterials(root: string, inputs: readonly string[]): Promise<object> {
  const read = async (folder: string): Promise<Package> =>
    JSON.parse(await readFile(join(root, folder, "package.json"), "utf8"));
  const folders = [...new Set(inputs.map(packageFolder).filter((folder) => folder !== undefined))];
  const packages = await Promise.all(folders.map(read));
  const byName = new Map(packages.map((one) => [`${one.name}@${one.version}`, one]));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: component("application", await read(".")) },
    components: [...byName.keys()].sort().flatMap((key) => {
      const one = byName.get(key);
      return one === undefined ? [] : [component("library", one)];
    }),
  };
}

function component(type: string, { name, version, license }: Package): object {
  const purl = `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
  return {
    type,
    name,
    version,
    purl,
    "bom-ref": purl,
    ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] }),
  };
}
