/** Where a release is published. Every file of the project that names one of these is compared with this table by a test. */
export const NAMES = {
  /** Images and charts. */
  image: "ghcr.io/mooring-dev/mooring",
  charts: "oci://ghcr.io/mooring-dev/charts",
  chart: "oci://ghcr.io/mooring-dev/charts/mooring",
  /** The command-line tools, without the image. */
  npmPackage: "@mooring-dev/cli",
  repository: "https://github.com/mooring-dev/mooring",
  /** Name of the package at OperatorHub. */
  olmPackage: "mooring",
} as const;

/** Where the files of a version are downloaded from. */
export const downloads = (version: string) => `${NAMES.repository}/releases/download/v${version}`;
