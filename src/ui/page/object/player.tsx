import { useEffect, useRef, useState } from "preact/hooks";
import type WaveSurfer from "wavesurfer.js";
import type { ResultView } from "../../view-types.ts";
import { colorOf, useColorScheme } from "../color-scheme.ts";
import { useAddress } from "../sign-in.ts";

/** A result that plays in the page, or why it does not. */
export function Player({ result, label }: { result: ResultView; label: string }) {
  const { type } = result;
  const media = useAddress(result.media);
  const [problem, setProblem] = useState("");
  if (media === undefined) return null;
  const failed = () => {
    // Why, in the server's words.
    void fetch(media, { headers: { range: "bytes=0-0" } })
      .then(async (response) =>
        setProblem(response.ok ? "The browser cannot play this file" : (await response.json()).error),
      )
      .catch(() => setProblem("The page's server does not respond"));
  };
  return (
    <>
      {type.startsWith("audio/") && <AudioPlayer media={media} label={label} onFail={failed} />}
      {type.startsWith("video/") && (
        // biome-ignore lint/a11y/useMediaCaption: the service gives no captions
        <video controls preload="metadata" src={media} aria-label={label} onError={failed} />
      )}
      {type.startsWith("image/") && <img src={media} alt={label} onError={failed} />}
      {problem !== "" && (
        <p class="notice wa-warning" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

type AudioProps = { media: string; label: string; onFail: () => void };

/** The browser's own controls, which the keyboard and screen readers know, below a waveform that only shows. */
function AudioPlayer({ media, label, onFail }: AudioProps) {
  const container = useRef<HTMLDivElement>(null);
  const audio = useRef<HTMLAudioElement>(null);
  const scheme = useColorScheme();
  useEffect(() => {
    let surfer: WaveSurfer | undefined;
    let outdated = false;
    void import("wavesurfer.js").then(({ default: WaveSurfer }) => {
      if (outdated || container.current === null || audio.current === null) return;
      surfer = WaveSurfer.create({
        container: container.current,
        media: audio.current,
        url: media,
        height: 72,
        barWidth: 3,
        barGap: 2,
        barRadius: 2,
        waveColor: colorOf("--quiet"),
        progressColor: colorOf("--accent"),
        cspNonce: document.querySelector("script")?.nonce ?? "",
      });
      surfer.on("error", onFail);
      surfer.on("decode", () => container.current?.setAttribute("data-drawn", "true"));
    });
    return () => {
      outdated = true;
      surfer?.destroy();
    };
  }, [media, scheme]);
  return (
    <>
      <div ref={container} class="waveform" aria-hidden="true" />
      {/* biome-ignore lint/a11y/useMediaCaption: the text of the job is on the same page */}
      <audio ref={audio} controls preload="metadata" aria-label={label} />
    </>
  );
}
