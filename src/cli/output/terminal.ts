import { type Io, severalLines } from "./output.ts";
import { screenOfProcess } from "./screen.ts";

const esc = String.raw`\u001b`;
/** The styles that `paint` writes; a text that holds one of these can do no more than be bold or coloured. */
const ownStyles = new RegExp(`(${esc}\\[(?:[124]|2[24]|3[1-69])m)`, "u");

/** Begins the line anew. */
const clearLine = "\r\u001b[K";

/** Text without anything that a terminal would act upon, besides line breaks, tabs and, where there are colours, styles. */
export function printable(text: string, hasColours: boolean): string {
  if (!hasColours) return severalLines(text);
  return text
    .split(ownStyles)
    .map((part, at) => (at % 2 === 1 ? part : severalLines(part)))
    .join("");
}

/**
 * The one way to the outputs of this process: whatever a command writes, and wherever it had it from, a terminal is told nothing but
 * text.
 */
export function cleanIo(io: Io): Io {
  const { screen, redraw } = io;
  return {
    ...io,
    out: (text) => io.out(printable(text, screen?.hasColours === true)),
    err: (text) => io.err(printable(text, screen?.hasErrorColours === true)),
    ...(redraw && { redraw: (text: string) => redraw(printable(text, screen?.hasErrorColours === true)) }),
  };
}

/** The outputs of a process, as they are: {@link cleanIo} is for whoever writes to them. */
export function ioOfProcess({ stdout, stderr, env }: Readonly<Pick<NodeJS.Process, "stdout" | "stderr" | "env">>): Io {
  return {
    out: (text) => stdout.write(text),
    err: (text) => stderr.write(text),
    redraw: (text) => stderr.write(`${clearLine}${text}`),
    screen: screenOfProcess({ stdout, stderr, environment: env }),
  };
}
