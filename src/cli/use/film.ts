import { type Command, InvalidArgumentError, Option } from "commander";
import { videoJobResource } from "../../api/v1alpha1/kinds.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import {
  addOneShotOptions,
  commonSpec,
  ONE_SHOT_HELP,
  type OneShotFlags,
  runCommand,
  textArgument,
} from "./one-shot/command.ts";

type Size = { width: number; height: number };
type FilmFlags = OneShotFlags & { image?: string; reference: string[]; size?: Size; seed?: number; negative?: string };

const HELP = `${ONE_SHOT_HELP}
The video is made from an image (--image), 5 seconds long, or from reference videos (--reference). The account needs the
enterprise verification of the service.

Examples:
  mooring film "waves at dusk" --image https://example.com/sea.png -o sea.mp4
  mooring film "the same ship in a storm" --reference https://example.com/ship.mp4 --size 1280x720 -o storm.mp4

`;

/** `mooring film`: a prompt becomes a video file. */
export function registerFilmCommand(program: Command): void {
  const command = program
    .command("film")
    .description("generate a video and download it; this is paid")
    .argument("<prompt>", "what the video shows, or - for standard input")
    .addOption(new Option("--image <url>", "URL of the input image").conflicts("reference"))
    .option("--reference <url>", "URL of a reference video; may be repeated", append, [])
    .addOption(new Option("--size <size>", "width x height in pixels, such as 1280x720").argParser(sizeOf))
    .addOption(new Option("--seed <number>", "seed").argParser(integer))
    .option("--negative <text>", "what the video must not show");
  addOneShotOptions(command, "sea.mp4")
    .addHelpText("after", HELP + exitCodesHelp("film"))
    .action(async (argument: string, flags: FilmFlags) => {
      await runCommand(videoJobResource, flags, {
        ...commonSpec(flags),
        ...sourceOf(await textArgument(argument), flags),
      });
    });
}

/** The spec of the model that the flags ask for. @throws Error of one line when they ask for none */
export function sourceOf(
  prompt: string,
  { image, reference, size, seed, negative }: Omit<FilmFlags, keyof OneShotFlags>,
) {
  const negativePrompt = negative === undefined ? {} : { negativePrompt: negative };
  const seeded = seed === undefined ? {} : { seed };
  if (image !== undefined) return { imageToVideo: { prompt, imageURL: image, ...negativePrompt, ...size, ...seeded } };
  if (reference.length === 0) throw new Error("a video needs a source: --image URL or --reference URL");
  const parameters = { ...seeded, ...(size === undefined ? {} : { size: `${size.width}*${size.height}` }) };
  const input = { prompt, referenceURLs: reference, ...negativePrompt };
  return { videoToVideo: Object.keys(parameters).length === 0 ? { input } : { input, parameters } };
}

function sizeOf(value: string): Size {
  const [, width, height] = /^(\d{1,5})[x*](\d{1,5})$/.exec(value) ?? [];
  if (width === undefined || height === undefined) throw new InvalidArgumentError("must be WIDTHxHEIGHT");
  return { width: Number(width), height: Number(height) };
}

function integer(value: string): number {
  if (!/^-?\d+$/.test(value)) throw new InvalidArgumentError("must be an integer");
  return Number(value);
}

function append(value: string, values: string[]): string[] {
  return [...values, value];
}
