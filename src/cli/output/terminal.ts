import { type Io, severalLines } from "./output.ts";
import { screenOfProcess } from "./screen.ts";

const esc = String.raw`\u001b`;
/** The styles that `paint` writes. Text that holds one can only become bold or coloured. */
const ownStyles = new RegExp(`(${esc}\\[(?:[124]|2[24]|3[1-69])m)`, "u");

const clearLine = "\r\u001b[K";

/** Text without anything that a terminal interprets but line breaks, tabs and, where there are colours, styles. */
export function printable(text: string, hasColours: boolean): string {
  if (!hasColours) return severalLines(text);
  return text
    .split(ownStyles)
    .map((part, at) => (at % 2 === 1 ? part : severalLines(part)))
    .join("");
}

/** The only way to the outputs of this process: nothing but text reaches a terminal, wherever a command had it from. */
export function cleanIo(io: Io): Io {
  const { screen, redraw } = io;
  return {
    ...io,
    out: (text) => io.out(printable(text, screen?.hasColours === true)),
    err: (text) => io.err(printable(text, screen?.hasErrorColours === true)),
    ...(redraw && { redraw: (text: string) => redraw(printable(text, screen?.hasErrorColours === true)) }),
  };
}

/** The outputs of a process, unfiltered ({@link cleanIo}). */
export function ioOfProcess({ stdout, stderr, env }: Readonly<Pick<NodeJS.Process, "stdout" | "stderr" | "env">>): Io {
  return {
    out: (text) => stdout.write(text),
    err: (text) => stderr.write(text),
    redraw: (text) => stderr.write(`${clearLine}${text}`),
    screen: screenOfProcess({ stdout, stderr, environment: env }),
  };
}
