import { Readable } from "node:stream";
import { expect } from "vitest";
import { type CliTime, type LocalCommands, runCli } from "#cli/index.ts";

/** What a run of the command line printed, and how it ended. */
export interface CliRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface CliSetting {
  readonly environment?: Readonly<Record<string, string>>;
  /** What a person types when asked, in order; undefined: nobody is there. */
  readonly answers?: readonly string[];
  /** What is piped in. */
  readonly stdin?: string;
  /** Width of the terminal; undefined: a pipe. */
  readonly columns?: number;
  readonly hasColours?: boolean;
  /** Of standard error, which may be a terminal where standard output is none. */
  readonly hasErrorColours?: boolean;
  /** Ctrl-C. */
  readonly interrupt?: AbortSignal;
  readonly local?: Partial<Omit<LocalCommands, "audit">>;
  readonly now?: () => number;
  /** How it waits; pauses are skipped unless given. */
  readonly time?: Partial<CliTime>;
  /** Called with what is printed, unchanged. */
  readonly onText?: (text: string) => void;
}

/** A pause that takes no time, but lets others have their turn. */
const skipped = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const elsewhere = (): Promise<never> => Promise.reject(new Error("not here"));

/** Runs a command line in this process. */
export async function runInProcess(argv: readonly string[], setting: CliSetting = {}): Promise<CliRun> {
  const { answers, stdin, columns, hasColours = false, hasErrorColours = false, interrupt, onText } = setting;
  let out = "";
  let err = "";
  const left = [...(answers ?? [])];
  const code = await runCli({
    argv,
    environment: setting.environment ?? {},
    version: "1.2.3",
    io: {
      out(text) {
        out += text;
        onText?.(text);
      },
      err(text) {
        err += text;
        onText?.(text);
      },
      screen: {
        isTerminal: columns !== undefined,
        columns: () => columns,
        hasColours,
        hasErrorColours,
        errorColumns: () => undefined,
        showsProgress: false,
      },
    },
    time: { sleep: skipped, timeout: (durationMs) => AbortSignal.timeout(durationMs), ...setting.time },
    now: setting.now ?? (() => Date.parse("2026-01-01T00:00:00Z")),
    person: {
      isThere: answers !== undefined,
      ask(question) {
        err += question;
        return Promise.resolve(left.shift());
      },
      interrupted: () => interrupt ?? new AbortController().signal,
    },
    local: {
      serve: elsewhere,
      checkConfig: () => Promise.resolve({ file: undefined, faults: [], warnings: [] }),
      localService: elsewhere,
      openBrowser: elsewhere,
      egress: elsewhere,
      checkPlugin: elsewhere,
      pluginConfirmation: elsewhere,
      stackHost: elsewhere,
      audit: { list: elsewhere, verify: elsewhere },
      runChecks: elsewhere,
      redact: elsewhere,
      readInput: () => Promise.resolve(stdin),
      inputLines: () => Readable.from((stdin ?? "").split("\n").filter((line) => line !== "")),
      ...setting.local,
    },
  });
  return { code, out, err };
}

/** A run that has printed this and nothing else. */
export const printed = (out: string): CliRun => ({ code: 0, out, err: "" });

/** A run that could not do what it was asked, with just this message. */
export const complaint = (err: string): CliRun => ({ code: 2, out: "", err });

/** A run that could not do what it was asked, with this in its message. */
export const refusal = (text: string | RegExp): object => ({
  ...{ code: 2, out: "" },
  err: typeof text === "string" ? expect.stringContaining(text) : expect.stringMatching(text),
});
