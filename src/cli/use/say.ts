import { type Command, Option } from "commander";
import { speechJobResource } from "../../api/v1alpha1/kinds.ts";
import { speechModels } from "../../api/v1alpha1/speech-job.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import {
  addOneShotOptions,
  commonSpec,
  ONE_SHOT_HELP,
  type OneShotFlags,
  runCommand,
  textArgument,
} from "./one-shot/command.ts";

const FORMATS = ["mp3", "wav", "flac", "pcm"] as const;
type SayFlags = OneShotFlags & {
  voice: string;
  model: (typeof speechModels)[number];
  format: (typeof FORMATS)[number];
};

const HELP = `${ONE_SHOT_HELP}
Examples:
  mooring say "Ahoy, sailor" --voice calm-1 -o ahoy.mp3
  mooring say - --voice calm-1 --model speech-2.6-hd -o chapter.mp3 < chapter.txt
  mooring say "Boarding" --voice calm-1 --format wav --store media --keep -o boarding.wav

`;

/** `mooring say`: a text becomes an audio file. */
export function registerSayCommand(program: Command): void {
  const command = program
    .command("say")
    .description("synthesize speech and download it; this is paid")
    .argument("<text>", "the text to speak, or - for standard input")
    .requiredOption("--voice <id>", "ID of the voice, as the service lists it")
    .addOption(
      new Option("--model <model>", "speech-2.6-turbo: short text, at once; speech-2.6-hd: long text, as a task")
        .choices(speechModels)
        .default("speech-2.6-turbo"),
    )
    .addOption(new Option("--format <format>", "format of the audio").choices(FORMATS).default("mp3"));
  addOneShotOptions(command, "hello.mp3")
    .addHelpText("after", HELP + exitCodesHelp("say"))
    .action(async (argument: string, flags: SayFlags) => {
      const { voice, model, format } = flags;
      await runCommand(speechJobResource, flags, {
        ...commonSpec(flags),
        model,
        text: await textArgument(argument),
        voiceSetting: { voiceID: voice },
        audioSetting: { format },
      });
    });
}
