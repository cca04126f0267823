/** What of a message is looked at: several times what can be shown. */
const usualChars = 2 * 1024;
/** Each line end takes two bytes when it is written out, so that no more lines than these can be shown. */
const mostLines = 250;
/** Where no secret goes on that is known by its shape: neither key nor token nor address has one of these in it. */
const boundaries = " \t\n\r\"'<>`";

/** Where to cut a text that is too long: half a secret is not known as one. */
function endOf(text: string, most: number): number {
  if (text.length <= most) return text.length;
  let end = most;
  while (end > 0 && !boundaries.includes(text.charAt(end - 1))) end -= 1;
  return end;
}

/**
 * The lines that a text begins with, what was cut off told at the end of the last one. It is for what is looked at for
 * secrets: whoever writes into the log must not decide how long that takes.
 */
export function beginningOf(text: string, most: number = usualChars): readonly string[] {
  const lines = text.slice(0, endOf(text, most)).split("\n", mostLines);
  const kept = lines.reduce((sum, line) => sum + line.length + 1, -1);
  if (kept === text.length) return lines;
  return [...lines.slice(0, -1), `${lines.at(-1) ?? ""}…[${text.length - kept} characters cut off]`];
}
