import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { LogContext } from "#contract/log-exploration.ts";
import type { LogList } from "#contract/logs.ts";
import { SerializedJson } from "#contract/operation.ts";
import { queriesAtOnce, searchesAtOnce } from "#domain/logs/reader.ts";
import type { Grep, Journal, JournalStorage, LogFilters } from "#domain/ports/journal.ts";
import type { Dispose } from "#kernel/clock.ts";
import { toError } from "#kernel/errors.ts";
import { createFollowThread } from "./follow-thread.ts";
import {
  type CrewLimits,
  createPools,
  createThreadStarter,
  fromThreadFailure,
  type Pool,
  type PoolLimits,
} from "./pool.ts";
import type { AnswerTo, Question } from "./protocol.ts";
import type { Fault, Root } from "./registry.ts";

export interface JournalOptions {
  readonly dir: string | undefined;
  readonly onUnreadable: (fault: Fault & { readonly isFirst: boolean }) => void;
  readonly limits?: Partial<PoolLimits>;
  /** Where templates are remembered; undefined: nowhere. */
  readonly templatesFile?: string | undefined;
}

export interface HostJournal {
  readonly journal: Omit<Journal, keyof JournalStorage>;
  readonly grep: Grep;
  readonly dispose: Dispose;
}

/** A check searches once a minute: the thread that stays does that too. */
const crewLimits: CrewLimits = { idleMs: 60_000, keptThreads: 1 };
const queryLimits: PoolLimits = { isForSearches: false, threads: queriesAtOnce, waiting: 256, jobMs: 60_000 };
/** Where there are processors for them, as many threads again that help those that search. */
const searchThreads = Math.min(Math.max(availableParallelism(), searchesAtOnce), 2 * searchesAtOnce);
const searchLimits: PoolLimits = { ...queryLimits, isForSearches: true, threads: searchThreads };
/** Searches of streams: small batches of messages, so that what takes long is at fault. */
const batchLimits: PoolLimits = { ...searchLimits, threads: 1, waiting: 4096, jobMs: 1_000 };
/** What is known of the templates of all files is kept in one thread, as long as it is asked for. */
const templateLimits: PoolLimits = { ...queryLimits, threads: 1 };
const templateCrewLimits: CrewLimits = { ...crewLimits, keptThreads: 0 };
/** A thread of its own, whose priority stays low once it is. */
const learningLimits: PoolLimits = { ...templateLimits, waiting: 1 };
const learningCrewLimits: CrewLimits = { idleMs: 5_000, keptThreads: 0 };
/** So much is done in a turn, after which who asked may pause. */
const learningMs = 100;

/** Where journald keeps its files: on the disk, and in memory until the disk is there or where none is wanted. */
const hostDirectories = ["/var/log/journal", "/run/log/journal"];

function machineId(): string | undefined {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim();
  } catch {
    // A host without an identity: the journals of all machines are its own.
    return undefined;
  }
}

function rootsOf(dir: string | undefined): readonly Root[] {
  if (dir !== undefined) return [{ path: dir }];
  const id = machineId();
  return hostDirectories.map((path) => ({ path, ...(id !== undefined && id !== "" && { machineId: id }) }));
}

const maxKnownFaults = 10_000;

/** Passes on each fault once, whichever thread finds it. */
function createFaultReport(onUnreadable: JournalOptions["onUnreadable"]): (fault: Fault) => void {
  const known = new Set<string>();
  const files = new Set<string>();
  return (fault) => {
    const key = `${fault.path}\0${fault.what}`;
    if (known.has(key) || known.size >= maxKnownFaults) return;
    known.add(key);
    const isFirst = !files.has(fault.path);
    files.add(fault.path);
    onUnreadable({ ...fault, isFirst });
  };
}

/** The journal of the host, read in threads of its own. They start with the first question. */
export function createHostJournal({ dir, onUnreadable, limits = {}, templatesFile }: JournalOptions): HostJournal {
  const reportOnce = createFaultReport(onUnreadable);
  let requests = 0;
  const nextId = (): number => {
    requests += 1;
    return requests;
  };
  const never = new AbortController().signal;
  const setup = { roots: rootsOf(dir), templatesFile };
  const startThread = createThreadStarter(setup, reportOnce, ({ search, port }, signal) => {
    // The search ends without help, too.
    pools.searches.runAside({ id: nextId(), kind: "help", search, port }, signal).catch(() => port.close());
  });
  const { pools, dispose } = createPools(startThread, crewLimits, {
    queries: { ...queryLimits, ...limits },
    searches: { ...searchLimits, ...limits },
    batches: { ...batchLimits, ...limits },
  });
  const { queries, searches, batches } = pools;
  const apart = createPools(startThread, templateCrewLimits, { templates: { ...templateLimits, ...limits } });
  const learning = createPools(startThread, learningCrewLimits, { learning: learningLimits });
  const following = createFollowThread(startThread);
  const searchAll: Grep["matching"] = async (all) => {
    try {
      const reply = await batches.run({ id: nextId(), kind: "grep", searches: all }, never);
      if (reply.kind !== "positions") throw new Error(`the journal's thread answered ${reply.kind} to a search`);
      return reply.found.map((each) => ("kind" in each ? fromThreadFailure(each) : new Set(each)));
    } catch (error) {
      if (all.length <= 1) return [toError(error)];
      // One of them takes too long or ends the thread: alone it is distinguished from the others.
      return (await Promise.all(all.map((one) => searchAll([one])))).flat();
    }
  };

  const poolFor = ({ grep: pattern, template }: Partial<Pick<LogFilters, "grep" | "template">>) =>
    template !== undefined ? apart.pools.templates : pattern === undefined ? queries : searches;

  const ask = async <W extends Question["what"]>(
    question: Question<W>,
    signal: AbortSignal,
    pool: Pool = queries,
  ): Promise<AnswerTo<W>> => {
    const reply = await pool.run({ id: nextId(), kind: "ask", question: question as Question }, signal);
    if (reply.kind !== "answered") throw new Error(`the journal's thread answered ${reply.kind} to a question`);
    return reply.answer;
  };

  return {
    journal: {
      async query(query, signal) {
        const job = { id: nextId(), kind: "query", query } as const;
        const reply = await poolFor(query).run(job, signal);
        if (reply.kind !== "answer") throw new Error(`the journal's thread answered ${reply.kind} to a query`);
        return new SerializedJson<LogList>(reply.bytes);
      },
      async export(query, signal) {
        const job = { id: nextId(), kind: "export", query } as const;
        const reply = await poolFor(query).run(job, signal);
        if (reply.kind !== "part") throw new Error(`the journal's thread answered ${reply.kind} to an export`);
        return reply.part;
      },
      follow: following.follow,
      histogram: (query, signal) => ask({ what: "histogram", query }, signal, poolFor(query)),
      facets: (query, signal) => ask({ what: "facets", query }, signal, poolFor(query)),
      templates: (query, signal) => ask({ what: "templates", query }, signal, apart.pools.templates),
      async context(query, signal) {
        const found = await ask({ what: "context", query }, signal);
        return "unread" in found ? found : new SerializedJson<LogContext>(found);
      },
      boots: (query, signal) => ask({ what: "boots", query }, signal),
      fieldNames: (query, signal) => ask({ what: "names", query }, signal),
      fieldValues: (name, listed, signal) => ask({ what: "values", query: { ...listed, name } }, signal),
      missing: (query, signal) => ask({ what: "missing", query }, signal),
      async learnTemplates(signal) {
        const job = { id: nextId(), kind: "learn", budgetMs: learningMs } as const;
        const reply = await learning.pools.learning.run(job, signal);
        if (reply.kind !== "learned") throw new Error(`the journal's thread answered ${reply.kind} to learning`);
        return reply.isDone;
      },
      rememberedErrors: (since, signal) => ask({ what: "errors", query: { since } }, signal),
    },
    grep: {
      matching: searchAll,
    },
    dispose() {
      for (const part of [{ dispose }, apart, learning, following]) part.dispose();
    },
  };
}
