import { type Io, oneLine, screenOf } from "./output.ts";
import { fitText } from "./text.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const frameMs = 100;
const defaultColumns = 80;

export function bar(percent: number, columns: number): string {
  const full = Math.round((Math.min(100, Math.max(0, percent)) / 100) * columns);
  return `${"█".repeat(full)}${"░".repeat(columns - full)}`;
}

/** Shows a line about work in progress, which is removed at its end; nothing in a pipe. */
export function startProgress(io: Io, first: string) {
  const screen = screenOf(io);
  if (!screen.showsProgress) return { show: (_text: string): void => undefined, end: (): void => undefined };
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
    show(next: string): void {
      text = next;
    },
    end(): void {
      clearInterval(timer);
      io.redraw?.("");
    },
  };
}

export async function withProgress<T>(
  io: Io,
  text: string,
  work: (progress: ReturnType<typeof startProgress>) => Promise<T>,
): Promise<T> {
  const progress = startProgress(io, text);
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}
