/**
 * How the image and the bundle start Node. Each half of the young generation has at most 32 MiB: in smaller ones, what requests in flight hold
 * grows old. It has this size after its first growth, and V8 makes it small again at rest. The old generation is first collected when it has
 * 64 MiB: V8's own first limit falls with each collection of the young one, so V8 marked the code and the first lists right after the start. Each
 * flag saves CPU (docs/reference/performance.md).
 */
export const NODE_FLAGS = ["--max-semi-space-size=32", "--semi-space-growth-factor=32", "--initial-old-space-size=64"];
