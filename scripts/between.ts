/**
 * The page with the text between `<!-- MARK -->` and `<!-- /MARK -->` replaced.
 * @throws Error when the page lacks the two marks
 */
export function between(mark: string, page: string, text: string): string {
  const marks = new RegExp(`(<!-- ${mark}[^>]*-->\n)[\\s\\S]*?(<!-- /${mark} -->)`);
  if (!marks.test(page)) throw new Error(`the page has no <!-- ${mark} --> and <!-- /${mark} --> to write between`);
  return page.replace(marks, (_, open: string, close: string) => `${open}${text}\n${close}`);
}
