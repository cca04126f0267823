import { styleText } from "node:util";

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "underline";

export type Cell =
  | string
  | number
  | {
      readonly text: string;
      readonly style?: Style | undefined;
      /** Lines and spaces before the text, as a tree has them. */
      readonly indent?: string;
    };

export interface Screen {
  readonly isTerminal: boolean;
  /** Characters per line; undefined where nothing is cut. */
  readonly columns: () => number | undefined;
  readonly hasColours: boolean;
  readonly hasErrorColours: boolean;
  readonly errorColumns: () => number | undefined;
  /** Whether standard error is a terminal whose current line can be overwritten. */
  readonly showsProgress: boolean;
}

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

const fewestColumns = 20;
const usualColumns = 80;

/** Read each time: windows are resized. */
const columnsOf =
  ({ isTTY, columns }: Output) =>
  (): number | undefined =>
    isTTY ? Math.max(fewestColumns, columns || usualColumns) : undefined;

/** `NO_COLOR` (no-color.org) takes precedence over `FORCE_COLOR`, and that over the kind of terminal. */
function wantsColours(isTerminal: boolean, environment: Readonly<Record<string, string | undefined>>): boolean {
  if ((environment["NO_COLOR"] ?? "") !== "") return false;
  const forced = environment["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return isTerminal && environment["TERM"] !== "dumb";
}

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

export const paint = ({ hasColours }: Pick<Screen, "hasColours">, style: Style | undefined, text: string): string =>
  hasColours && style !== undefined ? styleText(style, text, { validateStream: false }) : text;

/** The colour of an ActiveState. */
export function stateStyle(state: string): Style | undefined {
  if (state === "failed") return "red";
  return state === "active" ? "green" : "dim";
}
