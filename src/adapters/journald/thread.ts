import { constants, setPriority } from "node:os";
import { parentPort, type Transferable, workerData } from "node:worker_threads";
import type { Expression } from "#domain/logs/expression.ts";
import { JournalUnavailable, LogQueryRefused, type MessageSearch } from "#domain/ports/journal.ts";
import { orElse } from "#kernel/errors.ts";
import { searchMessages } from "./batch-search.ts";
import { createEngine } from "./engine.ts";
import { createFollowers, type Followers } from "./followers.ts";
import { compileGrep, trimExpressions } from "./grep-postings.ts";
import { setUnpackGate } from "./journal-file/unpack-gate.ts";
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

const { roots, templatesFile, cancelled, usage } = setup;
setUnpackGate(setup.unpackGate);
/** The job at work; a thread has one at a time. */
let atWork: number | undefined;
function failIfCancelled(): void {
  if (atWork !== undefined && Atomics.load(cancelled, 0) === atWork) throw new JournalUnavailable("the caller is gone");
}
const engine = createEngine({
  roots,
  onDamage,
  beforeRead: failIfCancelled,
  usage,
  templatesFile,
  help: isHelpful
    ? { ask: (search, port) => reply({ kind: "help", search, port }, [port]), whileWaiting: failIfCancelled }
    : undefined,
});
function onFollowersDamage(fault: Fault): void {
  onDamage(fault);
  followers.noteDamage();
}
const followers: Followers = createFollowers({
  registry: createRegistry(roots, onFollowersDamage, {
    keepMs: keepDeletedMs,
    usage,
    onGoing: (sources) => followers.passCopies(sources),
  }),
  onEntries: (id, entries) => reply({ kind: "entries", id, entries }),
  onUnread: (id, files) => reply({ kind: "unread", id, files }),
  onFailure: (id, error) => reply({ kind: "failure", id, failure: toThreadFailure(error) }),
});

function toThreadFailure(error: unknown): ThreadFailure {
  if (error instanceof LogQueryRefused) return { kind: "refused", field: error.field, issue: error.message };
  if (error instanceof JournalUnavailable) return { kind: "unavailable", message: error.message };
  if (error instanceof NoPermission) {
    // A directory that journald itself has made does not have the group before the next boot.
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
/** Deleted files keep their space on the disk while they are open. */
function releaseSoon(): void {
  clearTimeout(idle);
  idle = setTimeout(() => {
    engine.release();
    releaseSoon();
  }, releaseMs);
}

/** Of this thread alone, which does nothing else then. A sandbox may forbid it: the work is short in any case. */
const lowerPriority = (): void => orElse(() => setPriority(0, constants.priority.PRIORITY_LOW), undefined);

function serve(request: ThreadRequest): void {
  switch (request.kind) {
    case "query": {
      const bytes = ownMemory(engine.query(request.query));
      reply({ kind: "answer", id: request.id, bytes }, [bytes.buffer]);
      return;
    }
    case "export": {
      const part = engine.export(request.query);
      trimExpressions();
      const bytes = ownMemory(part.bytes);
      reply({ kind: "part", id: request.id, part: { ...part, bytes } }, [bytes.buffer]);
      return;
    }
    case "ask": {
      const answer = engine.ask(request.question);
      trimExpressions();
      reply({ kind: "answered", id: request.id, answer });
      return;
    }
    case "grep": {
      const found = search(request.searches);
      trimExpressions();
      reply({ kind: "positions", id: request.id, found });
      return;
    }
    case "learn": {
      lowerPriority();
      reply({ kind: "learned", id: request.id, isDone: engine.learn(request.budgetMs) });
      return;
    }
    case "help":
      try {
        engine.helpSearch(request.search, request.port);
      } finally {
        request.port.close();
      }
      reply({ kind: "helped", id: request.id });
      return;
    case "follow":
      followers.open(request.id, request.start);
      return;
    case "pull":
      followers.pull(request.id);
      return;
    case "end":
      followers.end(request.id);
      return;
  }
}

const ofFollowers: readonly ThreadRequest["kind"][] = ["follow", "pull", "end"];

port.on("message", (request: ThreadRequest) => {
  const isJob = !ofFollowers.includes(request.kind);
  // A cancellation of the request ends its work.
  if (isJob) atWork = request.id;
  try {
    serve(request);
  } catch (error) {
    reply({ kind: "failure", id: request.id, failure: toThreadFailure(error) });
  } finally {
    atWork = undefined;
  }
  if (isJob) releaseSoon();
});

reply({ kind: "ready" });
