import { type FullScreen, fullScreenOfProcess } from "./full-screen.ts";
import { type Cell, paint, plainScreen, type Screen, type Style, screenOfProcess } from "./screen.ts";

/** Where a command writes; tests pass their own. */
export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Writes bytes as they are, where no terminal reads them. */
  readonly raw?: (bytes: Buffer) => void;
  readonly redraw?: ((text: string) => void) | undefined;
  /** A pipe when left out. */
  readonly screen?: Screen;
  /** Undefined where standard output is not a terminal. */
  readonly fullScreen?: FullScreen | undefined;
  /** Takes tables instead of `out`. */
  readonly table?: (head: readonly string[], rows: readonly (readonly Cell[])[]) => void;
}

export const exitCode = {
  fine: 0,
  foundTrouble: 1,
  couldNotRun: 2,
  /** `services status` only, as `systemctl status` has it. */
  unknownUnit: 4,
  /** `serve` only, EX_CONFIG of sysexits: the unit is not started again (`RestartPreventExitStatus=`). */
  needsDecision: 78,
  interrupted: 130,
} as const;

export const screenOf = ({ screen }: Pick<Io, "screen">): Screen => screen ?? plainScreen;

/** Paints text for standard error, which may be a file while standard output is a terminal. */
export const paintError = (io: Pick<Io, "screen">, style: Style, text: string): string =>
  paint({ hasColours: screenOf(io).hasErrorColours }, style, text);

/** What JSON does not escape, but a terminal or a reader would interpret. */
const unescaped = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/gu;

/** JSON text with escapes instead of such marks. */
export const escaped = (json: string): string =>
  json.replaceAll(unescaped, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);

export const jsonText = (value: unknown, indent = 0): string => `${escaped(JSON.stringify(value, null, indent))}\n`;

export const printJson = (io: Io, value: unknown): void => io.out(jsonText(value, 2));

/** Marks that change the direction of writing, so that text reads as something else. */
const turns = /[\u202a-\u202e\u2066-\u2069]+/gu;

/** Text on one line, without anything that a terminal interprets. */
export const oneLine = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .replaceAll(turns, "")
    .trim();

const begin = String.raw`\u001b`;
/** Control sequences of terminals (ECMA-48 §5.4 and §5.6): colours, titles, movements. */
const sequences = new RegExp(
  [
    String.raw`(?:${begin}\[|\u009b)[0-?]*[ -/]*[@-~]`,
    String.raw`(?:${begin}[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|${begin}\\|\u009c)?`,
  ].join("|"),
  "gu",
);

const actedUpon = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;

/** Text of several lines, without anything that a terminal interprets but line breaks and tabs. */
export const severalLines = (text: string): string => (actedUpon.test(text) ? withoutControls(text) : text);

const withoutControls = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replaceAll(sequences, "")
    .replaceAll(/(?![\n\t])\p{Cc}/gu, "\ufffd")
    .replaceAll(turns, "");

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
  const { screen, redraw, fullScreen } = io;
  const drawn = (line: string): string => printable(line, screen?.hasColours === true).replaceAll("\n", " ");
  return {
    ...io,
    out: (text) => io.out(printable(text, screen?.hasColours === true)),
    err: (text) => io.err(printable(text, screen?.hasErrorColours === true)),
    ...(fullScreen && {
      fullScreen: { ...fullScreen, draw: (lines: readonly string[]) => fullScreen.draw(lines.map(drawn)) },
    }),
    ...(redraw && { redraw: (text: string) => redraw(printable(text, screen?.hasErrorColours === true)) }),
  };
}

/** The outputs of a process, unfiltered ({@link cleanIo}). */
export function ioOfProcess(ofProcess: Readonly<Pick<NodeJS.Process, "stdout" | "stderr" | "stdin" | "env">>): Io {
  const { stdout, stderr, env } = ofProcess;
  const out = (text: string): void => void stdout.write(text);
  return {
    out,
    // Standard input is opened where it is used: that takes a part of each start.
    fullScreen: fullScreenOfProcess(ofProcess, () => ofProcess.stdin, out),
    ...(stdout.isTTY !== true && { raw: (bytes: Buffer) => stdout.write(bytes) }),
    err: (text) => stderr.write(text),
    redraw: (text) => stderr.write(`${clearLine}${text}`),
    screen: screenOfProcess({ stdout, stderr, environment: env }),
  };
}
