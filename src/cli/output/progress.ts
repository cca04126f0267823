import { type Io, oneLine, screenOf } from "./output.ts";
import { fitText } from "./text-width.ts";

/** A line about work in progress, which is removed at its end; nothing in a pipe. */
export interface Progress {
  readonly show: (text: string) => void;
  readonly end: () => void;
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const frameMs = 100;
const defaultColumns = 80;

export function bar(percent: number, columns: number): string {
  const full = Math.round((Math.min(100, Math.max(0, percent)) / 100) * columns);
  return `${"█".repeat(full)}${"░".repeat(columns - full)}`;
}

export function startProgress(io: Io, first: string): Progress {
  const screen = screenOf(io);
  if (!screen.showsProgress) return { show: () => undefined, end: () => undefined };
  let text = first;
  let turn = 0;
  const draw = (): void => {
    const frame = frames[turn % frames.length] ?? "";
    turn += 1;
    io.redraw?.(`${frame} ${fitText(oneLine(text), (screen.errorColumns() ?? defaultColumns) - 3)}`);
  };
  draw();
  const timer = setInterval(draw, frameMs);
  return {
    show(next) {
      text = next;
    },
    end() {
      clearInterval(timer);
      io.redraw?.("");
    },
  };
}

/** Shows progress during some work. */
export async function withProgress<T>(io: Io, text: string, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = startProgress(io, text);
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}
