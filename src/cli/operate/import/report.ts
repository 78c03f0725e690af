import { itemsOf, tableOf } from "../../table.ts";
import type { ImportedEndpoint } from "./manifest.ts";

export const REPORT_FORMATS = ["table", "json", "yaml", "name"] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** What an import wrote, on one line for each endpoint. It has no value of an environment. */
export function importReport(imported: readonly ImportedEndpoint[], format: ReportFormat): string {
  const items = imported.map(({ id, name, file, endpoint, secret, problems }) => ({
    id,
    name,
    written: endpoint !== undefined,
    ...(endpoint === undefined ? {} : { file: `${file}.yaml` }),
    ...(secret === undefined ? {} : { secretFile: `${file}-env.secret.yaml` }),
    ...(problems.length === 0 ? {} : { problems }),
  }));
  switch (format) {
    case "json":
    case "yaml":
      return itemsOf(items, format);
    case "name":
      return items.flatMap(({ written, name }) => (written ? [`gpuendpoint.mooring.dev/${name}\n`] : [])).join("");
    case "table":
      return tableOf(
        ["ID", "NAME", "FILE", "SECRET", "PROBLEMS"],
        items.map(({ id, name, file = "<none>", secretFile = "<none>", problems = [] }) => {
          return [id, name, file, secretFile, String(problems.length)];
        }),
        ["PROBLEMS"],
      );
  }
}
