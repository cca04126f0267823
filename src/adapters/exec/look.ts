import { readFileSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { untilAborted } from "#kernel/async.ts";
import { errorMessage } from "#kernel/errors.ts";
import { exec } from "./index.ts";
import { type LeftBehind, leftBehind } from "./left-behind.ts";
import { createLineSplitter } from "./line-splitter.ts";
import { createMountLookup, parseMountinfo } from "./mountinfo.ts";

/** What a look says while it goes from one path to the next. */
export interface Looking<Answer> {
  /** Before anything at the path is touched. False for a path that has been inspected, or that gives no answer. */
  readonly begin: (path: string) => boolean;
  readonly answer: (path: string, answer: Answer) => void;
}

/** Looks at paths that others control, of which any may never answer. Input and answers are JSON. */
export interface Look<Input, Answer> {
  readonly name: string;
  /** For all paths; 15 s unless it is said. */
  readonly wholeMs?: number;
  readonly look: (input: Input, looking: Looking<Answer>) => void;
}

export interface Looked<Answer> {
  readonly answers: ReadonlyMap<string, Answer>;
  /** Paths that gave no answer in time, those of earlier looks that still wait for one included, and those on the same mounts. */
  readonly silent: ReadonlySet<string>;
  /** Whether each path was started: with many that are silent or slow there is no time for all. */
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
/** For all paths of a look that does not say it. */
const usualWholeMs = 15_000;
/** So many paths of a directory on the root file system may be silent until its others are passed over as well. */
const mostSilent = 4;
const mostLineBytes = 64 * 1024 * 1024;

/** In this process, which waits as long as the file system does: for programs that somebody runs by hand. */
export const lookHere: TakeLook = ({ look }, input) => {
  const answers = new Map();
  look(input, { begin: () => true, answer: (path, answer) => void answers.set(path, answer) });
  return Promise.resolve({ answers, silent: new Set(), isWhole: true });
};

const main = fileURLToPath(new URL("../../main.ts", import.meta.url));

/** A path is started, has an answer, or is passed over. */
type Line<Answer> =
  | { readonly at: string }
  | { readonly of: string; readonly answer: Answer }
  | { readonly over: string };

interface Sent<Input> {
  readonly input: Input;
  readonly answered: readonly string[];
  readonly silent: readonly string[];
}

/**
 * Whether a path is silent, or is on the mount of one that is: each would cost a process that may not end. The root file system answers,
 * or nothing would run here: there a silent path leads to another one by a link, and counts for its top directory.
 */
function createPassedOver(silent: readonly string[], mountinfo: string): (path: string) => boolean {
  const mountAt = createMountLookup(parseMountinfo(mountinfo));
  const root = mountAt("/");
  if (silent.length === 0) return () => false;
  const placesOf = (path: string): readonly string[] => {
    // What is called a path may be several files, with NUL between them.
    const mounts = path.split("\0").flatMap((file) => mountAt(file) ?? []);
    const others = mounts.filter(({ device }) => device !== root?.device);
    return others.length > 0 ? [...new Set(others.map((mount) => mount.path))] : path.split("/").slice(1, 2);
  };
  const counts = new Map<string, number>();
  for (const place of silent.flatMap(placesOf))
    counts.set(place, (counts.get(place) ?? 0) + (place.startsWith("/") ? mostSilent : 1));
  return (path) => silent.includes(path) || placesOf(path).some((place) => (counts.get(place) ?? 0) >= mostSilent);
}

/** What the process of a look has of its own. */
const ownIo = {
  read: (): string => readFileSync(0, "utf8"),
  /** At once, also where the next call never returns. */
  write: (text: string): void => {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
  },
  mountinfo: (): string => readFileSync("/proc/self/mountinfo", "utf8"),
};

/** The side of the process of its own: reads what is wanted from its input, and writes a line before each path and one after it. */
export function serveLook<Input, Answer>({ look }: Look<Input, Answer>, { read, write, mountinfo } = ownIo): void {
  const { input, answered, silent } = JSON.parse(read()) as Sent<Input>;
  const known = new Set(answered);
  const isPassedOver = createPassedOver(silent, mountinfo());
  const report = (line: Line<Answer>): void => write(`${JSON.stringify(line)}\n`);
  look(input, {
    begin(path) {
      if (known.has(path)) return false;
      const isOver = isPassedOver(path);
      report(isOver ? { over: path } : { at: path });
      return !isOver;
    },
    answer: (path, answer) => report({ of: path, answer }),
  });
}

type Ask = typeof exec;

/** How a process ended: it began each path, the time of the look was over, or a path was silent. */
type End = "whole" | "over" | { readonly silent: string };

async function lookOnce<Input, Answer>({
  name,
  sent,
  endsAt,
  gone,
  onAnswer,
  onOver,
  left,
  run,
}: {
  readonly name: string;
  readonly sent: Sent<Input>;
  readonly endsAt: number;
  /** Ends it. */
  readonly gone: AbortSignal;
  readonly onAnswer: (path: string, answer: Answer) => void;
  readonly onOver: (path: string) => void;
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
      const line = JSON.parse(bytes.toString("utf8")) as Line<Answer>;
      at = "at" in line ? line.at : undefined;
      if ("of" in line) onAnswer(line.of, line.answer);
      if ("over" in line) onOver(line.over);
    }
    clearTimeout(timer);
    const leftMs = Math.max(0, endsAt - performance.now());
    isLast = leftMs < silentMs;
    timer = setTimeout(() => over.abort(), Math.min(silentMs, leftMs));
  };
  try {
    const { exitCode, stderr } = await run([process.execPath, main, "look", name], {
      input: JSON.stringify(sent),
      timeoutMs: startMs + Math.max(0, endsAt - performance.now()),
      signal: AbortSignal.any([over.signal, gone]),
      onOutput,
      onLeft: (pid) => left.add(name, at ?? "", pid),
    });
    if (exitCode !== 0) throw new Error(stderr.trim() || `exit code ${exitCode}`);
    return "whole";
  } catch (error) {
    gone.throwIfAborted();
    if (over.signal.aborted && isLast) return "over";
    if (over.signal.aborted && at !== undefined) return { silent: at };
    const details = { missing: "answer", retryable: true };
    throw new HostUnavailable(`cannot look at ${name} in a process of its own: ${errorMessage(error)}`, details, error);
  } finally {
    clearTimeout(timer);
  }
}

async function lookUntilOver<Input, Answer>(
  { name, wholeMs = usualWholeMs }: Look<Input, Answer>,
  input: Input,
  { left, run, gone }: { readonly left: LeftBehind; readonly run: Ask; readonly gone: AbortSignal },
): Promise<Looked<Answer>> {
  const answers = new Map<string, Answer>();
  const silent = new Set(left.paths(name));
  const passedOver = new Set<string>();
  const endsAt = performance.now() + wholeMs;
  const onAnswer = (path: string, answer: Answer): void => void answers.set(path, answer);
  const onOver = (path: string): void => void passedOver.add(path);
  let end: End | undefined;
  while (end !== "whole" && end !== "over" && performance.now() < endsAt) {
    const sent = { input, answered: [...answers.keys()], silent: [...silent] };
    end = await lookOnce({ name, sent, endsAt, gone, onAnswer, onOver, left, run });
    if (typeof end === "object") silent.add(end.silent);
  }
  return { answers, silent: new Set([...silent, ...passedOver]), isWhole: end === "whole" };
}

/**
 * In a process of its own for each look, so that a path that never answers holds up nobody: it is passed over, and its process killed or,
 * where it cannot be, left behind. Who asks for the same meanwhile waits for the same process, which ends where nobody waits any more.
 */
export function createApartLook({ left, run = exec }: { readonly left: LeftBehind; readonly run?: Ask }): TakeLook {
  const running = new Map<
    string,
    { readonly looked: Promise<unknown>; readonly gone: AbortController; waiting: number }
  >();
  return async <Input, Answer>(look: Look<Input, Answer>, input: Input, signal: AbortSignal) => {
    signal.throwIfAborted();
    const key = JSON.stringify([look.name, input]);
    let one = running.get(key);
    if (one === undefined) {
      const gone = new AbortController();
      one = { looked: lookUntilOver(look, input, { left, run, gone: gone.signal }), gone, waiting: 0 };
      running.set(key, one);
    }
    one.waiting += 1;
    try {
      return await untilAborted(one.looked as Promise<Looked<Answer>>, signal);
    } finally {
      one.waiting -= 1;
      if (one.waiting === 0) {
        one.gone.abort();
        if (running.get(key) === one) running.delete(key);
      }
    }
  };
}

/** One for the whole process. */
export const lookApart: TakeLook = createApartLook({ left: leftBehind });
