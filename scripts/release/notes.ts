/**
 * The notes of a version: its section of a changelog in the format of Keep a Changelog, and `[Unreleased]` while the version has
 * none yet.
 * @throws Error when neither section has text
 */
export function releaseNotes(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const titled = (title: string) => sections.find((section) => section.startsWith(`[${title}]`));
  const section = titled(version) ?? titled("Unreleased");
  const text = section?.slice(section.indexOf("\n")).trim() ?? "";
  if (text === "") throw new Error(`CHANGELOG.md has no text for [${version}] or [Unreleased]`);
  return `${text}\n`;
}
