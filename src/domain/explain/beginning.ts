/** Characters of a message that are checked: several times what is shown. */
const usualChars = 2 * 1024;
/** An escaped line end takes two bytes, so no more lines can be shown. */
const mostLines = 250;
/** Never part of a key, token or address. */
const boundaries = " \t\n\r\"'<>`";

/** Where to cut a long text: half a secret is not recognized. */
function cutPosition(text: string, most: number): number {
  if (text.length <= most) return text.length;
  let end = most;
  while (end > 0 && !boundaries.includes(text.charAt(end - 1))) end -= 1;
  return end;
}

/**
 * The first lines of a text, with a note of what was cut off. Bounds the search for secrets: writers of the log must not decide how
 * long it takes.
 */
export function beginningOf(text: string, most: number = usualChars): readonly string[] {
  const lines = text.slice(0, cutPosition(text, most)).split("\n", mostLines);
  const kept = lines.reduce((sum, line) => sum + line.length + 1, -1);
  if (kept === text.length) return lines;
  return [...lines.slice(0, -1), `${lines.at(-1) ?? ""}…[${text.length - kept} characters cut off]`];
}
