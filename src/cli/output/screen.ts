import { styleText } from "node:util";

/** A colour or weight that terminals have. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "underline";

/** A cell of a table: text, or text in a style. */
export type Cell = string | number | { readonly text: string; readonly style: Style | undefined };

/** What output ends up on. */
export interface Screen {
  /** Whether a person sees standard output. */
  readonly isTerminal: boolean;
  /** How much fits on a line; undefined where nothing is cut. */
  readonly columns: () => number | undefined;
  readonly hasColours: boolean;
  /** Whether standard error has colours, wherever standard output goes. */
  readonly hasErrorColours: boolean;
  /** How much fits on a line of standard error; undefined where it is no terminal. */
  readonly errorColumns: () => number | undefined;
  /** Whether standard error is a terminal on which a line can be written over. */
  readonly showsProgress: boolean;
}

/** A pipe or a file. */
export const plainScreen: Screen = {
  isTerminal: false,
  columns: () => undefined,
  hasColours: false,
  hasErrorColours: false,
  errorColumns: () => undefined,
  showsProgress: false,
};

interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Nothing that a table can be drawn in is narrower. */
const fewestColumns = 20;
/** A terminal that does not say how wide it is. */
const usualColumns = 80;

/** Asked each time: a window changes its size. */
const columnsOf =
  ({ isTTY, columns }: Output) =>
  (): number | undefined =>
    isTTY ? Math.max(fewestColumns, columns || usualColumns) : undefined;

/**
 * Whether there are colours: `NO_COLOR` (no-color.org) before `FORCE_COLOR` before what the terminal is.
 */
function wantsColours(isTerminal: boolean, environment: Readonly<Record<string, string | undefined>>): boolean {
  if ((environment["NO_COLOR"] ?? "") !== "") return false;
  const forced = environment["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return isTerminal && environment["TERM"] !== "dumb";
}

/** What the outputs of a process are. */
export function screenOfProcess(ports: {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly environment: Readonly<Record<string, string | undefined>>;
}): Screen {
  const { stdout, stderr, environment } = ports;
  const isTerminal = stdout.isTTY === true;
  const isErrorTerminal = stderr.isTTY === true;
  return {
    isTerminal,
    columns: columnsOf(stdout),
    hasColours: wantsColours(isTerminal, environment),
    hasErrorColours: wantsColours(isErrorTerminal, environment),
    errorColumns: columnsOf(stderr),
    showsProgress: isErrorTerminal && environment["TERM"] !== "dumb",
  };
}

/** The text in a style, where the screen has any. */
export const paint = ({ hasColours }: Pick<Screen, "hasColours">, style: Style | undefined, text: string): string =>
  hasColours && style !== undefined ? styleText(style, text, { validateStream: false }) : text;
