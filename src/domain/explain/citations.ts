/** Line numbers in square brackets: `[L3]`, `[L3, L7]`, `[L3-L5]`, `[L3][7]`. */
const group = /\[(L[L0-9 ,;–-]{1,200})\]/gi;
const item = /L?([0-9]{1,4})(?:\s?[–-]\s?L?([0-9]{1,4}))?/gi;

/** The lines from 1 to `count` that a text cites, in the order of their first mention. */
export function citedLines(text: string, count: number): readonly number[] {
  const cited = new Set<number>();
  for (const [, list = ""] of text.matchAll(group)) {
    for (const [, first = "", last = first] of list.matchAll(item)) {
      const end = Math.min(Number(last), count);
      for (let line = Math.max(1, Number(first)); line <= end; line += 1) cited.add(line);
    }
  }
  return [...cited];
}
