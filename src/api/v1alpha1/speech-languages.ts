/** `languageBoost` of both models (interface: Speech synthesis). */
export const sharedLanguages = [
  "auto",
  "Chinese",
  "Chinese,Yue",
  "English",
  "Arabic",
  "Russian",
  "Spanish",
  "French",
  "Portuguese",
  "German",
  "Turkish",
  "Dutch",
  "Ukrainian",
  "Vietnamese",
  "Indonesian",
  "Japanese",
  "Italian",
  "Korean",
  "Thai",
  "Polish",
  "Romanian",
  "Greek",
  "Czech",
  "Finnish",
  "Hindi",
] as const;

/** What only speech-2.6-turbo knows. */
export const turboLanguages = [
  "Bulgarian",
  "Danish",
  "Hebrew",
  "Malay",
  "Persian",
  "Slovak",
  "Swedish",
  "Croatian",
  "Filipino",
  "Hungarian",
  "Norwegian",
  "Slovenian",
  "Catalan",
  "Nynorsk",
  "Tamil",
  "Afrikaans",
] as const;

export const languages = [...sharedLanguages, ...turboLanguages] as const;

export type SharedLanguage = (typeof sharedLanguages)[number];

/** Whether both models know the language. */
export function isSharedLanguage(language: string): language is SharedLanguage {
  return sharedLanguages.some((known) => known === language);
}
