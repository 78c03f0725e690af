import { ABSENT } from "../requests.ts";
import {
  fields,
  inEach,
  letters,
  NO_BOOLEAN,
  NO_INTEGER,
  NO_LIST,
  NO_NUMBER,
  NO_OBJECT,
  NO_STRING,
  ships,
  testRules,
} from "./rule.ts";

const I2V_RULES = inEach(
  [["submitImageToVideo", ""]],
  [
    {
      field: "prompt",
      rule: "1-2000, required",
      refused: [ABSENT, "", letters(2001), ...NO_STRING],
      accepted: ["x", ships(2000)],
    },
    { field: "image_url", rule: "required", refused: [ABSENT, ...NO_STRING] },
    {
      field: "negative_prompt",
      rule: "0-2000",
      refused: [letters(2001), ...NO_STRING],
      accepted: ["", ships(2000), ABSENT],
    },
    {
      field: "width",
      rule: "480, 720, 832 or 1280",
      refused: [481, 640, "720", null],
      accepted: [480, 720, 832, 1280, ABSENT],
      given: { height: ABSENT },
    },
    { field: "height", rule: "480x832", refused: [480, 720, 1280, 600], accepted: [832], given: { width: 480 } },
    { field: "height", rule: "832x480", refused: [832, 720, 1280, 600], accepted: [480], given: { width: 832 } },
    { field: "height", rule: "720x1280", refused: [720, 480, 832, 600], accepted: [1280], given: { width: 720 } },
    { field: "height", rule: "1280x720", refused: [1280, 480, 832, 600], accepted: [720], given: { width: 1280 } },
    { field: "height", rule: "integer", refused: NO_INTEGER, accepted: [480, ABSENT], given: { width: ABSENT } },
    {
      field: "loras",
      rule: "at most 3",
      refused: [...NO_LIST, ["x"], Array(4).fill({ path: "p", scale: 1 })],
      accepted: [[], Array(3).fill({ path: "p", scale: 1 }), ABSENT],
    },
    { field: "loras.0.path", rule: "string, required", refused: [ABSENT, ...NO_STRING] },
    {
      field: "loras.0.scale",
      rule: "[0, 4.0], required",
      refused: [ABSENT, -0.1, 4.1, ...NO_NUMBER],
      accepted: [0, 2.5, 4],
    },
    {
      field: "seed",
      rule: "[-1, 9999999999]",
      refused: [-2, 10_000_000_000, ...NO_INTEGER],
      accepted: [-1, 9_999_999_999, ABSENT],
    },
    { field: "steps", rule: "[1, 40]", refused: [0, 41, ...NO_INTEGER], accepted: [1, 40, ABSENT] },
    { field: "guidance_scale", rule: "[0, 10]", refused: [-0.1, 10.1, ...NO_NUMBER], accepted: [0, 7.5, 10, ABSENT] },
    { field: "flow_shift", rule: "[1, 10]", refused: [0.9, 10.1, ...NO_NUMBER], accepted: [1, 7.5, 10, ABSENT] },
    ...fields(["enable_safety_checker", "fast_mode", "watermark"], {
      rule: "boolean",
      refused: NO_BOOLEAN,
      accepted: [false, ABSENT],
    }),
    ...fields(["extra", "loras.0.extra"], { rule: "not a field", refused: [1] }),
  ],
);

const I2V_OPEN_RULES = inEach(
  [["submitImageToVideo", ""]],
  [
    {
      field: "height",
      rule: "not shown for a height without a width",
      refused: [],
      accepted: [600],
      given: { width: ABSENT },
    },
    {
      field: "loras.0.path",
      rule: "not shown whether it may be empty",
      refused: [],
      accepted: [""],
    },
  ],
);

const V2V_RULES = inEach(
  [["submitVideoToVideo", ""]],
  [
    { field: "input", rule: "object", refused: [ABSENT, ...NO_OBJECT] },
    ...fields(
      ["prompt", "audio_url", "negative_prompt"].map((name) => `input.${name}`),
      { rule: "string", refused: NO_STRING },
    ),
    { field: "input.reference_urls", rule: "array", refused: [...NO_LIST, [1]], accepted: [[], ABSENT] },
    { field: "parameters", rule: "object", refused: NO_OBJECT, accepted: [{}, ABSENT] },
    { field: "parameters.seed", rule: "integer", refused: NO_INTEGER, accepted: [-5, 10_000_000_000, ABSENT] },
    {
      field: "parameters.size",
      rule: "one of ten sizes",
      refused: ["640*480", "1280x720", "", 1],
      accepted: [
        ...["1280*720", "720*1280", "960*960", "1088*832", "832*1088", "1920*1080", "1080*1920", "1440*1440"],
        ...["1632*1248", "1248*1632", ABSENT],
      ],
    },
    { field: "parameters.duration", rule: "5 or 10", refused: [7, 0, "5", null], accepted: [5, 10, ABSENT] },
    {
      field: "parameters.shot_type",
      rule: "single or multi",
      refused: ["both", "", 1],
      accepted: ["single", "multi", ABSENT],
    },
    ...fields(
      ["audio", "watermark", "prompt_extend"].map((name) => `parameters.${name}`),
      { rule: "boolean", refused: NO_BOOLEAN, accepted: [false, ABSENT] },
    ),
    ...fields(["extra", "prompt", "input.extra", "parameters.extra"], { rule: "not a field", refused: ["x"] }),
  ],
);

testRules([...I2V_RULES, ...I2V_OPEN_RULES, ...V2V_RULES]);
