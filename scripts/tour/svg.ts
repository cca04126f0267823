import type { Frame, Run } from "./screen.ts";
import type { TerminalSize } from "./terminal.ts";

const cell = { width: 8.4, height: 18 } as const;
const margin = 16;
const barHeight = 30;
const fontSize = 14;
const background = "#16181d";
const foreground = "#d5d9e0";
/** The sixteen colours of a terminal, readable on the background. */
const palette = [
  "#3b4048",
  "#f07178",
  "#8fd18a",
  "#f0c674",
  "#7aa6f0",
  "#c792ea",
  "#6fcbd6",
  "#d5d9e0",
  "#6b7280",
  "#ff8b92",
  "#a6e3a1",
  "#ffd88a",
  "#93bbff",
  "#d8b4fe",
  "#8be4ee",
  "#ffffff",
] as const;

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escapeXml = (text: string): string => text.replaceAll(/[&<>"]/g, (found) => escapes[found] ?? found);
const short = (value: number): string => String(Math.round(value * 100) / 100);

/** Words of a run with the columns that they begin at: what stands between them need not be drawn. */
function piecesOf({ column, text }: Run): readonly { readonly column: number; readonly text: string }[] {
  return [...text.matchAll(/\S+(?: \S+)*/gu)].map((found) => ({
    column: column + Array.from(text.slice(0, found.index)).length,
    text: found[0],
  }));
}

function drawRun(run: Run): string {
  const style = [
    run.colour === undefined ? "" : ` fill="${palette[run.colour] ?? foreground}"`,
    run.isBold ? ' font-weight="bold"' : "",
    run.isDim ? ' opacity=".6"' : "",
    run.isUnderlined ? ' text-decoration="underline"' : "",
  ].join("");
  return piecesOf(run)
    .map(({ column, text }) => {
      const width = short(Array.from(text).length * cell.width);
      // Whichever font there is, every character keeps to its column.
      return `<text x="${short(margin + column * cell.width)}" textLength="${width}"${style}>${escapeXml(text)}</text>`;
    })
    .join("");
}

interface Shown {
  readonly row: number;
  readonly drawn: string;
  readonly spans: { fromMs: number; toMs: number }[];
}

/** Each thing that stands on a row, and when. */
function shownIn(frames: readonly Frame[], endMs: number): readonly Shown[] {
  const shown = new Map<string, Shown>();
  for (const [at, { atMs, lines }] of frames.entries()) {
    const toMs = frames[at + 1]?.atMs ?? endMs;
    for (const [row, line] of lines.entries()) {
      const drawn = line.map(drawRun).join("");
      if (drawn === "") continue;
      const key = `${row} ${drawn}`;
      const each = shown.get(key) ?? { row, drawn, spans: [] };
      shown.set(key, each);
      const last = each.spans.at(-1);
      if (last !== undefined && last.toMs === atMs) last.toMs = toMs;
      else each.spans.push({ fromMs: atMs, toMs });
    }
  }
  return [...shown.values()];
}

const keyTime = (ms: number, endMs: number): string => String(Math.min(1, Math.round((ms / endMs) * 1e5) / 1e5));

/** When something is to be seen, over and over again. */
function animate(spans: Shown["spans"], endMs: number): string {
  const steps = spans.flatMap(({ fromMs, toMs }) => [
    { at: keyTime(fromMs, endMs), value: "visible" },
    { at: keyTime(toMs, endMs), value: "hidden" },
  ]);
  const all = steps[0]?.at === "0" ? steps : [{ at: "0", value: "hidden" }, ...steps];
  const inTime = all.filter(({ at }) => at !== "1");
  const values = inTime.map(({ value }) => value).join(";");
  const times = inTime.map(({ at }) => at).join(";");
  return `<animate attributeName="visibility" calcMode="discrete" dur="${short(endMs / 1000)}s" repeatCount="indefinite" values="${values}" keyTimes="${times}"/>`;
}

/**
 * Draws a recording as an animated picture. Where nothing is animated, its last screen is seen.
 * @param title what stands above it.
 */
export function drawSvg(frames: readonly Frame[], endMs: number, size: TerminalSize, title: string): string {
  const width = Math.ceil(size.columns * cell.width + 2 * margin);
  const height = barHeight + size.rows * cell.height + margin;
  const rows = shownIn(frames, endMs).map(({ row, drawn, spans }) => {
    const y = short(barHeight + (row + 0.8) * cell.height);
    const isLast = spans.at(-1)?.toMs === endMs;
    return `<g transform="translate(0 ${y})" visibility="${isLast ? "visible" : "hidden"}">${animate(spans, endMs)}${drawn}</g>`;
  });
  const dots = ["#f07178", "#f0c674", "#8fd18a"].map(
    (colour, at) => `<circle cx="${margin + 4 + at * 18}" cy="${barHeight / 2 + 1}" r="5.5" fill="${colour}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${background}"/>`,
    ...dots,
    `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${fontSize}" fill="${foreground}">`,
    `<text x="${width / 2}" y="${barHeight / 2 + 5}" text-anchor="middle" opacity=".6">${escapeXml(title)}</text>`,
    ...rows,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}
