import { type Cell, paint, plainScreen, type Screen, type Style } from "./screen.ts";

/** Where a command writes; tests pass their own. */
export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Overwrites the current line of standard error. */
  readonly redraw?: ((text: string) => void) | undefined;
  /** A pipe when left out. */
  readonly screen?: Screen;
  /** Takes tables instead of `out`. */
  readonly table?: (head: readonly string[], rows: readonly (readonly Cell[])[]) => void;
}

/** Exit codes of every command. */
export const exitCode = {
  fine: 0,
  foundTrouble: 1,
  couldNotRun: 2,
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

/** JSON that a terminal can show safely, ended by a line break. */
export const jsonText = (value: unknown, indent = 0): string => {
  const text = JSON.stringify(value, null, indent);
  return `${text.replaceAll(unescaped, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
};

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
