import { constants, setPriority } from "node:os";
import { parentPort, type Transferable, workerData } from "node:worker_threads";
import { type ExecLines, execLines } from "#adapters/exec/index.ts";
import type { Expression } from "#domain/logs/expression.ts";
import {
  type ExportPart,
  type ExportQuery,
  JournalUnavailable,
  type Lacking,
  type LogQuery,
  LogQueryRefused,
  type MessageSearch,
} from "#domain/ports/journal.ts";
import { orElse } from "#kernel/errors.ts";

import { searchMessages } from "./batch-search.ts";
import { isBootNumber } from "./boots.ts";
import { createEngine } from "./engine.ts";
import { type CountAnswer, type CountQuestion, explore } from "./exploration.ts";
import { createFollowers, type Followers } from "./followers.ts";
import { countAll } from "./foreign-counts.ts";
import { exportForeign } from "./foreign-export.ts";
import { addForeignFiles } from "./foreign-files.ts";
import { compileGrep, trimExpressions } from "./grep-postings.ts";
import { setUnpackGate } from "./journal-file/unpack-gate.ts";
import { createJournalctl } from "./journalctl.ts";
import type { ListAnswer, ListQuestion } from "./lists.ts";
import type { ThreadFailure, ThreadMemory, ThreadReply, ThreadRequest, ThreadSetup } from "./protocol.ts";
import { createRegistry, type Fault, NoPermission } from "./registry.ts";
import { isHelpful } from "./shared-search.ts";

/**
 * What runs in a thread of the journal: queries, searches, followers. It reads files synchronously, which is the fastest
 * way, and holds up nobody but itself.
 */
const setup = workerData as ThreadSetup & ThreadMemory;
const port = parentPort;
if (port === null) throw new Error("this runs in a thread of the journal only");

const maxKnownFaults = 10_000;
const releaseMs = 2_000;
const keepDeletedMs = 2_000;

const reply = (message: ThreadReply, transfer: readonly Transferable[] = []): void =>
  port.postMessage(message, [...transfer]);

const knownFaults = new Set<string>();
const onDamage = (fault: Fault): void => {
  const key = `${fault.path}\0${fault.what}`;
  if (knownFaults.has(key) || knownFaults.size >= maxKnownFaults) return;
  knownFaults.add(key);
  reply({ kind: "fault", fault });
};

const { roots, directory, readable, templatesFile, cancelled, programs, usage } = setup;
setUnpackGate(setup.unpackGate);
const replaceProgram = (before: number, after: number): void => {
  const place = programs.indexOf(before);
  if (place >= 0) Atomics.store(programs, place, after);
};
const execTracked: ExecLines = (argv, options) =>
  execLines(argv, {
    ...options,
    onStarted: (pid) => replaceProgram(0, pid),
    onEnded: (pid) => replaceProgram(pid, 0),
  });
interface Work {
  readonly id: number;
  readonly ended: AbortController;
}
/** The job at work; a lane has one at a time. */
let atWork: Work | undefined;
function failIfCancelled(): void {
  if (atWork !== undefined && Atomics.load(cancelled, 0) === atWork.id) {
    throw new JournalUnavailable("the caller is gone");
  }
}
const engine = createEngine({
  roots,
  onDamage,
  beforeRead: failIfCancelled,
  readable,
  usage,
  templatesFile,
  help: isHelpful
    ? { ask: (search, port) => reply({ kind: "help", search, port }, [port]), whileWaiting: failIfCancelled }
    : undefined,
});
const machineId = roots[0]?.machineId;
const journalctl = createJournalctl({
  execLines: execTracked,
  ...(directory !== undefined && { directories: [directory] }),
  ...(machineId !== undefined && { machineId }),
});
const followers: Followers = createFollowers({
  registry: createRegistry(roots, onDamage, {
    keepMs: keepDeletedMs,
    readable,
    usage,
    onGoing: (sources) => followers.passCopies(sources),
  }),
  journalctl,
  onEntries: (id, entries) => reply({ kind: "entries", id, entries }),
  onFailure: (id, error) => reply({ kind: "failure", id, failure: toThreadFailure(error) }),
});

function toThreadFailure(error: unknown): ThreadFailure {
  if (error instanceof LogQueryRefused) return { kind: "refused", field: error.field, issue: error.message };
  if (error instanceof JournalUnavailable) return { kind: "unavailable", message: error.message };
  if (error instanceof NoPermission) {
    // A folder that journald itself has made does not have the group before the next boot.
    const remedy =
      "add the service's user to the group systemd-journal; files without that group get it by: systemd-tmpfiles --create --prefix /var/log/journal";
    return { kind: "unavailable", message: `${error.message} (${remedy})` };
  }
  return { kind: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

const ownMemory = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength
    ? new Uint8Array(bytes.buffer)
    : new Uint8Array(bytes);

/** No entry is of it. */
const noBoot = "none";

async function answerQuery(query: LogQuery, signal: AbortSignal): Promise<Uint8Array> {
  const ours = engine.query(query);
  const files = engine.foreign();
  if (files.length === 0) return ours;
  if (query.boot !== undefined && isBootNumber(query.boot)) {
    // Counted over all files, so ours have to be asked again.
    const resolved = await journalctl.resolveBoot(query, signal);
    return answerQuery(resolved ?? { ...query, boot: noBoot }, signal);
  }
  // What journalctl reads is of no template.
  if (query.template !== undefined) return ours;
  return addForeignFiles(ours, { files, query, signal }, { journalctl, holds: engine.holds, onDamage });
}

/** Where files are there that only journalctl reads, entries come from pages that have theirs. */
async function answerExport(query: ExportQuery, signal: AbortSignal): Promise<ExportPart> {
  const ours = engine.export(query);
  return (
    ours ??
    exportForeign(query, {
      ask: (page) => answerQuery(page, signal),
      filesFrom: engine.filesFrom,
      unread: () => engine.unread(query, query),
    })
  );
}

/** Files that only journalctl reads add their part where all entries count; what is of some units is not told by it. */
async function answerList(question: ListQuestion, signal: AbortSignal): Promise<ListAnswer> {
  const ours = engine.list(question);
  if (engine.foreign().length === 0 || question.what === "missing") return ours;
  return journalctl.list(question, signal);
}

async function answerCount(question: CountQuestion, signal: AbortSignal): Promise<CountAnswer & Lacking> {
  const answer = await countEntries(question, signal);
  const { query } = question;
  const isCompared = "before" in query && query.before !== undefined;
  return { ...answer, unread: engine.unread(query, isCompared ? undefined : query) };
}

async function countEntries(question: CountQuestion, signal: AbortSignal): Promise<CountAnswer> {
  const ours = engine.count(question);
  if (engine.foreign().length === 0) return ours;
  return countAll(question, signal, { engine, journalctl, onDamage });
}

/** Does the work of a request, which a cancellation of that request ends. */
async function cancellable<T>(id: number, work: (signal: AbortSignal) => T | Promise<T>): Promise<T> {
  const mine = { id, ended: new AbortController() };
  atWork = mine;
  try {
    return await work(mine.ended.signal);
  } finally {
    if (atWork === mine) atWork = undefined;
  }
}

/** Searches that share their messages are done together. */
function search(searches: readonly MessageSearch[]): readonly (readonly number[] | ThreadFailure)[] {
  const found: (readonly number[] | ThreadFailure)[] = [];
  const together = new Map<readonly string[], { readonly place: number; readonly expression: Expression }[]>();
  for (const [place, { pattern, messages }] of searches.entries()) {
    try {
      const others = together.get(messages) ?? [];
      together.set(messages, others);
      others.push({ place, expression: compileGrep(pattern) });
    } catch (error) {
      found[place] = toThreadFailure(error);
    }
  }
  for (const [messages, those] of together) {
    const positions = searchMessages(
      those.map(({ expression }) => expression),
      messages,
      failIfCancelled,
    );
    for (const [at, { place }] of those.entries()) found[place] = positions[at] ?? [];
  }
  return found;
}

let idle: NodeJS.Timeout | undefined;
/** Deleted files keep their room on the disk while they are open. */
function releaseSoon(): void {
  clearTimeout(idle);
  idle = setTimeout(() => {
    // While journalctl reads other files, ours are still asked what they hold.
    if (atWork === undefined) engine.release();
    releaseSoon();
  }, releaseMs);
}

/** Of this thread alone, which does nothing else then. A sandbox may forbid it: the work is short in any case. */
const lowerPriority = (): void => orElse(() => setPriority(0, constants.priority.PRIORITY_LOW), undefined);

async function serve(request: ThreadRequest): Promise<void> {
  switch (request.kind) {
    case "query": {
      releaseSoon();
      const bytes = ownMemory(await cancellable(request.id, (signal) => answerQuery(request.query, signal)));
      reply({ kind: "answer", id: request.id, bytes }, [bytes.buffer]);
      return;
    }
    case "export": {
      releaseSoon();
      const part = await cancellable(request.id, (signal) => answerExport(request.query, signal));
      trimExpressions();
      const bytes = ownMemory(part.bytes);
      reply({ kind: "part", id: request.id, part: { ...part, bytes } }, [bytes.buffer]);
      return;
    }
    case "list": {
      releaseSoon();
      const answer = await cancellable(request.id, (signal) => answerList(request.question, signal));
      const unread = engine.unread(request.question);
      reply({ kind: "list", id: request.id, answer: { ...answer, unread } });
      return;
    }
    case "explore": {
      releaseSoon();
      const answer = await cancellable(request.id, (signal) =>
        explore(request.question, {
          query: (query) => answerQuery(query, signal),
          count: (question) => answerCount(question, signal),
        }),
      );
      trimExpressions();
      reply({ kind: "explored", id: request.id, answer });
      return;
    }
    case "grep": {
      const found = await cancellable(request.id, () => search(request.searches));
      trimExpressions();
      reply({ kind: "positions", id: request.id, found });
      return;
    }
    case "learn": {
      releaseSoon();
      lowerPriority();
      const isDone = await cancellable(request.id, () => engine.learn(request.budgetMs));
      reply({ kind: "learned", id: request.id, isDone });
      return;
    }
    case "errors":
      reply({ kind: "errors", id: request.id, found: engine.rememberedErrors(request.since) });
      return;
    case "help":
      releaseSoon();
      try {
        await cancellable(request.id, () => engine.helpSearch(request.search, request.port));
      } finally {
        request.port.close();
      }
      reply({ kind: "helped", id: request.id });
      return;
    case "follow":
      return followers.open(request.id, request.start);
    case "pull":
      return followers.pull(request.id);
    case "end":
      return followers.end(request.id);
    case "cancel":
      if (request.id === atWork?.id) atWork.ended.abort();
      return;
  }
}

port.on("message", (request: ThreadRequest) => {
  serve(request).catch((error: unknown) => reply({ kind: "failure", id: request.id, failure: toThreadFailure(error) }));
});

reply({ kind: "ready" });
