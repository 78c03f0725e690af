/**
 * How the image and the bundle start Node. Each half of the young generation has at most 32 MiB: in smaller ones, what requests in flight hold
 * grows old. That costs more CPU (docs/reference/performance.md).
 */
export const NODE_FLAGS = ["--max-semi-space-size=32"];
