/** Edits after which a word is another word. */
const maxEdits = 3;
/** Longer ones are not misspelt names. */
const maxLength = 64;

/**
 * Insertions, deletions, substitutions and swaps of neighbours that lead from one word to another (optimal string alignment), or
 * more than `maxEdits` where it is clear that there are more.
 */
function editsBetween(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > maxEdits) return maxEdits + 1;
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const substituted = (last[j - 1] ?? 0) + (isSame ? 0 : 1);
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : substituted;
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, substituted, swapped));
    }
    before = last;
    last = row;
  }
  return last[to.length] ?? 0;
}

/** The name that a misspelt one was most likely meant to be: in few edits, and with most letters in common; undefined where none is. */
export function closestName(word: string, names: readonly string[]): string | undefined {
  if (word.length > maxLength) return undefined;
  let found: string | undefined;
  let fewest = maxEdits + 1;
  for (const name of names) {
    const edits = editsBetween(word.toLowerCase(), name.toLowerCase());
    if (edits >= fewest || edits * 2 > Math.max(word.length, name.length)) continue;
    found = name;
    fewest = edits;
  }
  return found;
}

/** What a message about an unknown name ends with: ` (did you mean priority?)`; nothing where no name is close. */
export function didYouMean(word: string, names: readonly string[]): string {
  const name = closestName(word, names);
  return name === undefined ? "" : ` (did you mean ${name}?)`;
}
