import { expect, test } from "vitest";
import { clusterAddressHint } from "../../../../../src/cli/use/one-shot/cluster-address.ts";

const raw = (path: string) =>
  `only pods can resolve this address; the API server can read it: kubectl get --raw '${path}' > a.mp3`;

const cases: { url: string; hint: string | undefined }[] = [
  {
    url: "http://mooring-simulator.mooring-system.svc:8090/__files/7c9e/speech.mp3",
    hint: raw("/api/v1/namespaces/mooring-system/services/mooring-simulator:8090/proxy/__files/7c9e/speech.mp3"),
  },
  {
    url: "http://simulator.team.svc.cluster.local/speech.mp3?part=1",
    hint: raw("/api/v1/namespaces/team/services/simulator:80/proxy/speech.mp3?part=1"),
  },
  { url: "https://simulator.team.svc/speech.mp3", hint: undefined },
  { url: "http://127.0.0.1:8090/speech.mp3", hint: undefined },
  { url: "https://results.example.com/speech.mp3", hint: undefined },
];

test.each(cases)("$url", ({ url, hint }) => {
  expect(clusterAddressHint(url, "a.mp3")).toBe(hint);
});
