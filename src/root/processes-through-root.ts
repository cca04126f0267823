import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { DeletedFiles, Processes, ProcessId, ProcessOwners, SampledProcess } from "#domain/ports/processes.ts";
import type { Clock } from "#kernel/clock.ts";
import type { RequestRoot } from "./request.ts";

/** Root is asked for users at most so often: each time it starts a process. */
const ownersAgeMs = 60_000;

const never = new AbortController().signal;

/** How long what root has said of processes is used: each time it starts a process. */
const rootAgeMs = 5_000;

/** Signals, which root sends, and what root sees of processes, input, output and files: a service without rights does neither of others. */
export function processesThroughRoot(
  processes: Pick<Processes, "io" | "deletedFiles">,
  request: RequestRoot,
  clock: Pick<Clock, "monotonicMs">,
): Pick<Processes, "ioOfAll" | "deletedFiles" | "signal"> {
  const ioOfAll = keptForSeconds(clock, async () => {
    const io = await request("processes.io", {}, never);
    return io.map(([pid, startTicks, readBytes, writtenBytes]) => [pid, { startTicks, readBytes, writtenBytes }]);
  });
  const deletedOfAll = keptForSeconds(clock, async () => {
    const files = await request("processes.deleted_files", {}, never);
    return files.map(([pid, startTicks, deleted]) => [pid, { startTicks, ...deleted }]);
  });
  return {
    async ioOfAll(wanted) {
      const [own, all] = await Promise.all([processes.io(wanted), ioOfAll()]);
      return byProcess(wanted, (each) => own.get(each.pid) ?? sameProcess(all.known, each));
    },
    async deletedFiles(wanted) {
      const [own, all] = await Promise.all([processes.deletedFiles(wanted), deletedOfAll()]);
      return byProcess(wanted, (each) => {
        const told = sameProcess(all.known, each);
        return own.get(each.pid) ?? told ?? (all.isAnswered ? noFiles : undefined);
      });
    },
    signal: ({ pid, startTicks }, signal) =>
      request("processes.signal", { pid, start_ticks: startTicks, signal }, never),
  };
}

const noFiles: DeletedFiles = { count: 0, bytes: 0, largest: null };

/** What root said of a process; undefined of another one that had the number then. */
function sameProcess<T>(
  known: Known<T>,
  { pid, startTicks }: ProcessId,
): Omit<T & { startTicks: number }, "startTicks"> | undefined {
  const found = known.get(pid);
  if (found?.startTicks !== startTicks) return undefined;
  const { startTicks: _, ...rest } = found;
  return rest;
}

const byProcess = <T>(
  wanted: readonly SampledProcess[],
  of: (each: SampledProcess) => T | undefined,
): ReadonlyMap<number, T> =>
  new Map(
    wanted.flatMap((each) => {
      const value = of(each);
      return value === undefined ? [] : [[each.pid, value] as const];
    }),
  );

type Known<T> = ReadonlyMap<number, T & { readonly startTicks: number }>;

interface RootAnswer<T> {
  readonly known: Known<T>;
  /** False where root cannot be asked. */
  readonly isAnswered: boolean;
}

/** What root says of all processes, for all who ask within a few seconds; nothing where root cannot be asked. */
function keptForSeconds<T>(
  clock: Pick<Clock, "monotonicMs">,
  read: () => Promise<readonly (readonly [pid: number, T & { readonly startTicks: number }])[]>,
): () => Promise<RootAnswer<T>> {
  let answer: Promise<RootAnswer<T>> | undefined;
  let askedAtMs = Number.NEGATIVE_INFINITY;

  const ask = async (): Promise<RootAnswer<T>> => {
    try {
      return { known: new Map(await read()), isAnswered: true };
    } catch (error) {
      // What is not known is said so in the answer.
      if (error instanceof HostUnavailable) return { known: new Map(), isAnswered: false };
      answer = undefined;
      throw error;
    }
  };

  return () => {
    if (answer === undefined || clock.monotonicMs() - askedAtMs > rootAgeMs) {
      askedAtMs = clock.monotonicMs();
      answer = ask();
    }
    return answer;
  };
}

/**
 * Users of processes, which root knows. A process that starts after root was asked has no user until it is asked again, by whoever
 * looks first when a minute has passed; only the first waits for it.
 */
export function ownersThroughRoot(request: RequestRoot, clock: Pick<Clock, "monotonicMs">): ProcessOwners {
  type Known = ReadonlyMap<number, { readonly startTicks: number; readonly uid: number }>;
  let known: Known = new Map();
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  const ask = async (): Promise<void> => {
    try {
      const owners = await request("processes.owners", {}, never);
      const found = Object.entries(owners).flatMap(([uid, ids]) =>
        ids.map(([pid, startTicks]) => [pid, { startTicks, uid: Number(uid) }] as const),
      );
      known = new Map(found);
    } catch (error) {
      // What is not known is said so in the answer.
      if (!(error instanceof HostUnavailable)) throw error;
    } finally {
      asking = undefined;
    }
  };

  return async (processes) => {
    const isKnown = processes.every(({ pid, startTicks }) => known.get(pid)?.startTicks === startTicks);
    if (!isKnown && asking === undefined && clock.monotonicMs() - askedAtMs > ownersAgeMs) {
      askedAtMs = clock.monotonicMs();
      asking = ask();
      asking.catch(() => undefined);
    }
    if (known.size === 0) await asking;
    return new Map(
      processes.flatMap(({ pid, startTicks }) => {
        const found = known.get(pid);
        return found?.startTicks === startTicks ? [[pid, found.uid] as const] : [];
      }),
    );
  };
}
