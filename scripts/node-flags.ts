/**
 * How the image and the bundle start Node. A young generation of 16 MiB: in a smaller one, what requests in flight hold grows old. That costs
 * more CPU and more memory (docs/reference/performance.md).
 */
export const NODE_FLAGS = ["--max-semi-space-size=16"];
