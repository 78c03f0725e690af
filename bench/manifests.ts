/** The objects that the measurements create, as small as they can be. */

const apiVersion = "mooring.dev/v1alpha1";

export const endpoint = (name: string) => ({
  apiVersion,
  kind: "GpuEndpoint",
  metadata: { name },
  spec: {
    products: [{ id: "gpu-4090-24g" }],
    image: "registry.example.com/models/echo:1.0",
    port: 8000,
    workers: { min: 1, max: 2, idleTimeoutSeconds: 60, maxConcurrency: 4, gpus: 1, requestTimeoutSeconds: 120 },
    policy: { type: "queue", value: 30 },
    healthCheck: { path: "/health" },
  },
});

export const videoJob = (name: string) => ({
  apiVersion,
  kind: "VideoJob",
  metadata: { name },
  spec: { imageToVideo: { prompt: "Waves", imageURL: "https://images.example.com/sea.png" } },
});

/** With model speech-2.6-turbo, the one that streams. */
export const speechJob = (name: string, spec: Record<string, unknown>) => ({
  apiVersion,
  kind: "SpeechJob",
  metadata: { name },
  spec: { model: "speech-2.6-turbo", voiceSetting: { voiceID: "announcer" }, ...spec },
});

export const artifactStore = (name: string, spec: Record<string, unknown>) => ({
  apiVersion,
  kind: "ArtifactStore",
  metadata: { name },
  spec,
});
