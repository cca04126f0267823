import { readFileSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { createShared, untilAborted } from "#kernel/async.ts";
import { errorMessage } from "#kernel/errors.ts";
import { exec } from "./index.ts";
import { type LeftBehind, leftBehind } from "./left-behind.ts";
import { createLineSplitter } from "./line-splitter.ts";

/** What a look says while it goes from one path to the next. */
export interface Looking<Answer> {
  /** Before anything at the path is touched. False for a path that has been looked at, or that gives no answer. */
  readonly begin: (path: string) => boolean;
  readonly answer: (path: string, answer: Answer) => void;
}

/** Looks at paths that others control, of which any may never answer. Input and answers are JSON. */
export interface Look<Input, Answer> {
  readonly name: string;
  readonly look: (input: Input, looking: Looking<Answer>) => void;
}

export interface Looked<Answer> {
  readonly answers: ReadonlyMap<string, Answer>;
  /** Paths that gave no answer in time, those of earlier looks that still wait for one included. */
  readonly silent: ReadonlySet<string>;
  /** Whether each path was begun: with many that are silent or slow there is no time for all. */
  readonly isWhole: boolean;
}

export type TakeLook = <Input, Answer>(
  look: Look<Input, Answer>,
  input: Input,
  signal: AbortSignal,
) => Promise<Looked<Answer>>;

/** So long a path may take to answer. */
const silentMs = 5_000;
const startMs = 20_000;
/** For all paths of a look. */
const wholeMs = 15_000;
/** Processes that are left behind at the most. */
const mostLeft = 4;
const mostLineBytes = 64 * 1024 * 1024;

/** In this process, which waits as long as the file system does: for programs that somebody runs by hand. */
export const lookHere: TakeLook = ({ look }, input) => {
  const answers = new Map();
  look(input, { begin: () => true, answer: (path, answer) => void answers.set(path, answer) });
  return Promise.resolve({ answers, silent: new Set(), isWhole: true });
};

const main = fileURLToPath(new URL("../../main.ts", import.meta.url));

type Line<Answer> = readonly [path: string] | readonly [path: string, answer: Answer];

interface Sent<Input> {
  readonly input: Input;
  /** Paths that are not begun. */
  readonly skip: readonly string[];
}

/** The side of the process of its own: reads what is wanted from its input, and writes a line before each path and one after it. */
export function serveLook<Input, Answer>({ look }: Look<Input, Answer>): void {
  const { input, skip } = JSON.parse(readFileSync(0, "utf8")) as Sent<Input>;
  const skipped = new Set(skip);
  // At once, also where the next call never returns.
  const write = (line: Line<Answer>): void => {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
  };
  look(input, {
    begin(path) {
      if (skipped.has(path)) return false;
      write([path]);
      return true;
    },
    answer: (path, answer) => write([path, answer]),
  });
}

type Ask = typeof exec;

/** How a process ended: it began each path, the time of the look was over, or a path was silent. */
type End = "whole" | "over" | { readonly silent: string };

async function lookOnce<Input, Answer>({
  name,
  sent,
  endsAt,
  onAnswer,
  left,
  run,
}: {
  readonly name: string;
  readonly sent: Sent<Input>;
  readonly endsAt: number;
  readonly onAnswer: (path: string, answer: Answer) => void;
  readonly left: LeftBehind;
  readonly run: Ask;
}): Promise<End> {
  const splitter = createLineSplitter(mostLineBytes);
  const over = new AbortController();
  let at: string | undefined;
  let isLast = false;
  let timer = setTimeout(() => over.abort(), startMs);
  const onOutput = (chunk: Buffer): void => {
    for (const { bytes } of splitter.push(chunk)) {
      const [path, answer] = JSON.parse(bytes.toString("utf8")) as Line<Answer>;
      at = answer === undefined ? path : undefined;
      if (answer !== undefined) onAnswer(path, answer);
    }
    clearTimeout(timer);
    const leftMs = Math.max(0, endsAt - performance.now());
    isLast = leftMs < silentMs;
    timer = setTimeout(() => over.abort(), Math.min(silentMs, leftMs));
  };
  try {
    const { exitCode, stderr } = await run([process.execPath, main, "look", name], {
      input: JSON.stringify(sent),
      timeoutMs: startMs + wholeMs,
      signal: over.signal,
      onOutput,
      onLeft: (pid) => left.add(at ?? "", pid),
    });
    if (exitCode !== 0) throw new Error(stderr.trim() || `exit code ${exitCode}`);
    return "whole";
  } catch (error) {
    if (over.signal.aborted && isLast) return "over";
    if (over.signal.aborted && at !== undefined) return { silent: at };
    const details = { missing: "answer", retryable: true };
    throw new HostUnavailable(`cannot look at ${name} in a process of its own: ${errorMessage(error)}`, details, error);
  } finally {
    clearTimeout(timer);
  }
}

async function lookUntilOver<Input, Answer>(
  { name }: Look<Input, Answer>,
  input: Input,
  { left, run }: { readonly left: LeftBehind; readonly run: Ask },
): Promise<Looked<Answer>> {
  const answers = new Map<string, Answer>();
  const silent = new Set(left.paths());
  const endsAt = performance.now() + wholeMs;
  const onAnswer = (path: string, answer: Answer): void => void answers.set(path, answer);
  for (;;) {
    if (left.paths().length >= mostLeft || performance.now() >= endsAt) return { answers, silent, isWhole: false };
    const sent = { input, skip: [...answers.keys(), ...silent] };
    const end = await lookOnce({ name, sent, endsAt, onAnswer, left, run });
    if (typeof end === "string") return { answers, silent, isWhole: end === "whole" };
    silent.add(end.silent);
  }
}

/**
 * In a process of its own for each look, so that a path that never answers holds up nobody: it is passed over, and its process killed or,
 * where it cannot be, left behind. Who asks for the same meanwhile waits for the same process.
 */
export function createApartLook({ left, run = exec }: { readonly left: LeftBehind; readonly run?: Ask }): TakeLook {
  const share = createShared();
  return (look, input, signal) =>
    untilAborted(
      share(JSON.stringify([look.name, input]), () => lookUntilOver(look, input, { left, run })),
      signal,
    );
}

/** One for the whole process. */
export const lookApart: TakeLook = createApartLook({ left: leftBehind });
