import type { Line } from "./screen.ts";

/** A moment, counted on from another one. */
const secondsOf = (at: number): string =>
  `${String(Math.floor(at / 60)).padStart(2, "0")}${String(at % 60).padStart(2, "0")}`;

/** What differs from run to run, and what stands in its place: as long as it, so that nothing moves. */
const variables: readonly (readonly [RegExp, (found: string, at: number) => string])[] = [
  [/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?/g, (found) => "2026-01-31T12:00:00.000000".slice(0, found.length)],
  [/\b20\d\d-\d\d-\d\d \d\d:\d\d(?::\d\d)?/g, (found) => "2026-01-31 12:00:00".slice(0, found.length)],
  [/\b20\d\d-\d\d-\d\d\b/g, () => "2026-01-31"],
  // Ids of operations and of snapshots tell each other apart.
  [/\b20\d{6}-\d{6}-\d{3}-[0-9a-f]{8}\b/g, (_, at) => `20260131-12${secondsOf(at)}-000-0a1b2c3d`],
  [/\b20\d{6}-\d{6}\b(?!-\d)/g, (_, at) => `20260131-12${secondsOf(at)}`],
  [/\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d\b/g, () => "Jan 31 12:00:00"],
  [/(?<=, Linux )\S+/g, (found) => "6.12.0-18-amd64".slice(0, found.length).padEnd(found.length, "0")],
  [/(?<=\[)\d{2,}(?=\])/g, (found) => "1".padEnd(found.length, "0")],
];

/** Makes lines as they would be at any other time; what is the same in two lines stays the same. */
export function createNormaliser(): (line: Line) => Line {
  const seen = new Map<string, number>();
  const orderOf = (found: string): number => {
    const at = seen.get(found) ?? seen.size;
    seen.set(found, at);
    return at;
  };
  const normalText = (text: string): string =>
    variables.reduce(
      (all, [pattern, instead]) =>
        all.replaceAll(pattern, (found) => instead(found, instead.length > 1 ? orderOf(found) : 0)),
      text,
    );
  return (line) => line.map((run) => ({ ...run, text: normalText(run.text) }));
}

/** A line as text. */
export function textOf(line: Line): string {
  let text = "";
  for (const run of line) text = text.padEnd(run.column) + run.text;
  return text.trimEnd();
}

/** What stays the same as long as a command says the same things in the same form: no figures, no widths, no repetition. */
export function shapeOf(text: string): string {
  const lines = text
    .split("\n")
    .map((line) => line.replaceAll(/\d+(?:[.,]\d+)*/g, "0").replaceAll(/\b(?:B|KiB|MiB|GiB|ms|s|min|h)\b/g, "unit"))
    .map((line) =>
      line
        .replaceAll(/(?:0 unit ?)+/g, "0 unit ")
        .replaceAll(/[█░]+/g, "█")
        .replaceAll(/ +/g, " ")
        .trim(),
    );
  return lines.filter((line, at) => line !== lines[at - 1]).join("\n");
}

/** The first line whose form differs; undefined where none does. */
export function differenceOf(kept: string, now: string): { readonly before: string; readonly now: string } | undefined {
  const [before, after] = [shapeOf(kept).split("\n"), shapeOf(now).split("\n")];
  const rows = Array.from({ length: Math.max(before.length, after.length) }, (_, row) => row);
  const at = rows.find((row) => before[row] !== after[row]);
  if (at === undefined) return undefined;
  return { before: before[at] ?? "(it ends)", now: after[at] ?? "(it ends)" };
}
