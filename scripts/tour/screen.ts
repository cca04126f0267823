import headless from "@xterm/headless";
import type { Chunk, TerminalSize } from "./terminal.ts";

/** How a piece of text looks. */
export interface Look {
  /** A colour of the palette, 0 to 15; undefined for the usual one. */
  readonly colour: number | undefined;
  readonly isBold: boolean;
  readonly isDim: boolean;
  readonly isUnderlined: boolean;
}

/** Text of one look, from a column on. */
export interface Run extends Look {
  readonly column: number;
  readonly text: string;
}

export type Line = readonly Run[];

/** The screen from a moment on. */
export interface Frame {
  readonly atMs: number;
  readonly lines: readonly Line[];
}

const isSame = (a: Look, b: Look): boolean =>
  a.colour === b.colour && a.isBold === b.isBold && a.isDim === b.isDim && a.isUnderlined === b.isUnderlined;

type Terminal = InstanceType<typeof headless.Terminal>;

function readLine(terminal: Terminal, row: number): Line {
  const line = terminal.buffer.active.getLine(row);
  const runs: Run[] = [];
  let current: { -readonly [K in keyof Run]: Run[K] } | undefined;
  for (let column = 0; line !== undefined && column < terminal.cols; column += 1) {
    const cell = line.getCell(column);
    const text = cell?.getChars() ?? "";
    // A wide character takes two columns, of which the second is empty.
    if (cell === undefined || cell.getWidth() === 0) continue;
    const look: Look = {
      colour: cell.isFgPalette() ? cell.getFgColor() % 16 : undefined,
      isBold: cell.isBold() !== 0,
      isDim: cell.isDim() !== 0,
      isUnderlined: cell.isUnderline() !== 0,
    };
    if (current === undefined || !isSame(current, look)) {
      current = { ...look, column, text: "" };
      runs.push(current);
    }
    current.text += text === "" ? " " : text;
  }
  const last = runs.at(-1);
  if (last !== undefined) runs[runs.length - 1] = { ...last, text: last.text.trimEnd() };
  return runs.filter(({ text }) => text !== "");
}

const write = (terminal: Terminal, text: string): Promise<void> =>
  new Promise((resolve) => terminal.write(text, resolve));

/** A terminal that shows what is written to it, and remembers its screen at moments. */
export interface Screen {
  /** Writes what came at these moments, each no longer after the one before than `mostPauseMs`. */
  readonly play: (chunks: readonly Chunk[], mostPauseMs: number) => Promise<void>;
  readonly pause: (durationMs: number) => void;
  readonly clear: () => Promise<void>;
  readonly frames: () => readonly Frame[];
  /** All lines since the last clear, those that have left the screen too. */
  readonly lines: () => readonly Line[];
  readonly nowMs: () => number;
}

/** Frames that follow closer on each other are one. */
const leastFrameMs = 120;

/** @param change is applied to each line before it is remembered. */
export function createScreen({ columns, rows }: TerminalSize, change: (line: Line) => Line): Screen {
  const terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 1000 });
  const frames: Frame[] = [];
  let nowMs = 0;

  const remember = (): void => {
    const top = terminal.buffer.active.baseY;
    const lines = Array.from({ length: rows }, (_, row) => change(readLine(terminal, top + row)));
    const last = frames.at(-1);
    if (last !== undefined && nowMs - last.atMs < leastFrameMs) frames.pop();
    const atMs = last !== undefined && nowMs - last.atMs < leastFrameMs ? last.atMs : nowMs;
    frames.push({ atMs, lines });
  };

  return {
    async play(chunks, mostPauseMs) {
      let before = 0;
      for (const { atMs, text } of chunks) {
        nowMs += Math.min(mostPauseMs, Math.max(0, atMs - before));
        before = atMs;
        await write(terminal, text);
        remember();
      }
    },
    pause(durationMs) {
      nowMs += durationMs;
    },
    async clear() {
      await write(terminal, "\u001bc");
      remember();
    },
    frames: () => frames,
    lines() {
      const { active } = terminal.buffer;
      const all = Array.from({ length: active.baseY + rows }, (_, row) => change(readLine(terminal, row)));
      return all.slice(0, all.findLastIndex((line) => line.length > 0) + 1);
    },
    nowMs: () => nowMs,
  };
}
