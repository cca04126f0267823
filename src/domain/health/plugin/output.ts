import { type Perfdata, parsePerfdata } from "./perfdata.ts";

export interface PluginOutput {
  /** The first line, without its performance data. */
  readonly text: string;
  readonly longText: string;
  readonly perfdata: Perfdata;
}

/** All control characters but newline and tab. */
const controlCharacters = /[^\P{Cc}\n\t]/gu;

const cutAtBar = (text: string): readonly [before: string, after: string] => {
  const bar = text.indexOf("|");
  return bar === -1 ? [text, ""] : [text.slice(0, bar), text.slice(bar + 1)];
};

const withoutLastWord = (text: string): string =>
  text.slice(0, Math.max(...[" ", "\t", "\n"].map((blank) => text.lastIndexOf(blank))) + 1);

export const printable = (text: string): string => text.replaceAll(controlCharacters, "");

/**
 * Parses the output of a plugin: `text | perfdata` in the first line, then long text, and after the next bar only perfdata.
 * @param isCut whether `stdout` is incomplete: a figure at its end may be wrong, and is left out.
 */
export function parseOutput(stdout: string, isCut = false): PluginOutput {
  const clean = printable(stdout);
  const newline = clean.indexOf("\n");
  const [firstLine, others] = newline === -1 ? [clean, ""] : [clean.slice(0, newline), clean.slice(newline + 1)];
  const [text, firstPerfdata] = cutAtBar(firstLine);
  const [longText, morePerfdata] = cutAtBar(others);
  // The last part of the output is what follows the first bar, or the second where there are more lines.
  const whole = (part: string, isLast: boolean): string => (isCut && isLast ? withoutLastWord(part) : part);
  const perfdata = [whole(firstPerfdata, newline === -1), whole(morePerfdata, true)].join(" ");
  return {
    text: text.trim(),
    longText: longText.trimEnd(),
    perfdata: parsePerfdata(perfdata.replaceAll("\n", " ")),
  };
}
