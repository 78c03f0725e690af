import { Download } from "lucide";
import type { ResultUrl, ResultView, VersionView } from "../../view-types.ts";
import { getJson, objectPath } from "../api.ts";
import { Age } from "../components/age.tsx";
import { CopyButton } from "../components/copy.tsx";
import { Icon } from "../components/icon.tsx";
import { Middle } from "../components/middle.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { useAddress } from "../sign-in.ts";
import { localTime } from "../time.ts";
import { Player } from "./player.tsx";

/** Results of a job that play in the page. They come from the page's own server only. */
export function Results({ results, name }: { results: readonly ResultView[]; name: string }) {
  return (
    <>
      {results.map((result, index) => (
        <article key={result.media ?? index} class="result">
          <Player result={result} label={`${result.kind}${results.length === 1 ? "" : ` ${index + 1}`} of ${name}`} />
          <div class="actions">
            <DownloadLink result={result} />
            {result.media !== undefined && result.expiresAt !== undefined && <CopyUrl media={result.media} />}
            {result.copied && <CopyButton text={result.location} label="Copy location" />}
          </div>
          <p class="quiet location">
            <Middle text={result.location} />
            <span>
              {result.bytes !== undefined && `${result.bytes.toLocaleString()} bytes`}
              {result.expiresAt !== undefined && `until ${localTime(result.expiresAt)}`}
            </span>
          </p>
        </article>
      ))}
    </>
  );
}

function DownloadLink({ result: { media, file } }: { result: ResultView }) {
  const address = useAddress(media);
  if (address === undefined) return null;
  return (
    <a class="wa-button wa-brand" href={address} download={file}>
      <Icon icon={Download} /> Download
    </a>
  );
}

/** The URL that the service gave. It has a signature: who has it has the result. So it is read only when it is asked for. */
function CopyUrl({ media }: { media: string }) {
  const read = async () => (await getJson<ResultUrl>(media.replace(/^media/, "api/result-urls"))).url;
  return <CopyButton text={read} label="Copy URL" />;
}

/** The same text or prompt with other voices, models or settings, side by side. */
export function Versions({ versions }: { versions: readonly VersionView[] }) {
  return (
    <div class="versions">
      {versions.map(({ row, results }) => (
        <article key={row.uid} class="card">
          <h3>
            <a href={`#/objects/${objectPath(row)}`}>{row.name}</a> <StateBadge state={row.state} />
          </h3>
          <p class="quiet">
            {[row.job?.voice, row.job?.model, row.cost === undefined ? "" : `¥${row.cost}`].filter(Boolean).join(" · ")}
            {" · "}
            <Age time={row.created} /> ago
          </p>
          {results.slice(0, 1).map((result) => (
            <Player key={result.media} result={result} label={`${result.kind} of ${row.name}`} />
          ))}
        </article>
      ))}
    </div>
  );
}
