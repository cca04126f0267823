import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { DeletedFiles, Processes, ProcessId, ProcessOwners } from "#domain/ports/processes.ts";
import type { Clock } from "#kernel/clock.ts";
import type { RequestRoot } from "./request.ts";

/** Root is asked for users at most so often: each time it starts a process. */
const ownersAgeMs = 60_000;
/** How long what root has said of processes is used. */
const rootAgeMs = 5_000;

const never = new AbortController().signal;

/** With its start, since another process may have the number by now. */
const keyOf = ({ pid, startTicks }: ProcessId): string => `${pid} ${startTicks}`;

const noFiles: DeletedFiles = { count: 0, bytes: 0, largest: null };

/** Signals, which root sends, and what root sees of processes, input, output and files: a service without rights does neither of others. */
export function processesThroughRoot(
  processes: Pick<Processes, "io" | "deletedFiles">,
  request: RequestRoot,
  clock: Pick<Clock, "monotonicMs">,
): Pick<Processes, "ioOfAll" | "deletedFiles" | "signal"> {
  const ioOfAll = keptForSeconds(clock, async () =>
    (await request("processes.io", {}, never)).map(([pid, startTicks, readBytes, writtenBytes]) => [
      keyOf({ pid, startTicks }),
      { readBytes, writtenBytes },
    ]),
  );
  const deletedOfAll = keptForSeconds(clock, async () =>
    (await request("processes.deleted_files", {}, never)).map(([pid, startTicks, files]) => [
      keyOf({ pid, startTicks }),
      files,
    ]),
  );
  return {
    async ioOfAll(wanted) {
      const [own, all] = await Promise.all([processes.io(wanted), ioOfAll()]);
      return byProcess(wanted, (each) => own.get(each.pid) ?? all?.get(keyOf(each)));
    },
    async deletedFiles(wanted) {
      const [own, all] = await Promise.all([processes.deletedFiles(wanted), deletedOfAll()]);
      return byProcess(wanted, (each) => own.get(each.pid) ?? all?.get(keyOf(each)) ?? (all && noFiles));
    },
    signal: ({ pid, startTicks }, signal) =>
      request("processes.signal", { pid, start_ticks: startTicks, signal }, never),
  };
}

function byProcess<Each extends ProcessId, T>(
  wanted: readonly Each[],
  of: (each: Each) => T | undefined,
): ReadonlyMap<number, T> {
  const found = new Map<number, T>();
  for (const each of wanted) {
    const value = of(each);
    if (value !== undefined) found.set(each.pid, value);
  }
  return found;
}

/** What root says of all processes, for all who ask within a few seconds; undefined where root cannot be asked. */
function keptForSeconds<T>(
  clock: Pick<Clock, "monotonicMs">,
  read: () => Promise<readonly (readonly [key: string, T])[]>,
): () => Promise<ReadonlyMap<string, T> | undefined> {
  let answer: Promise<ReadonlyMap<string, T> | undefined> | undefined;
  let askedAtMs = Number.NEGATIVE_INFINITY;

  const ask = async (): Promise<ReadonlyMap<string, T> | undefined> => {
    try {
      return new Map(await read());
    } catch (error) {
      // What is not known is said so in the answer.
      if (error instanceof HostUnavailable) return undefined;
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
 * Users of processes, which root knows. A process that starts after root was asked has no user until it is asked again, by anyone who
 * looks first when a minute has passed; only the first waits for it.
 */
export function ownersThroughRoot(request: RequestRoot, clock: Pick<Clock, "monotonicMs">): ProcessOwners {
  let known: ReadonlyMap<string, number> = new Map();
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  const ask = async (): Promise<void> => {
    try {
      const owners = Object.entries(await request("processes.owners", {}, never));
      known = new Map(
        owners.flatMap(([uid, ids]) => ids.map(([pid, startTicks]) => [keyOf({ pid, startTicks }), Number(uid)])),
      );
    } catch (error) {
      // What is not known is said so in the answer.
      if (!(error instanceof HostUnavailable)) throw error;
    } finally {
      asking = undefined;
    }
  };

  return async (processes) => {
    const isKnown = processes.every((each) => known.has(keyOf(each)));
    if (!isKnown && asking === undefined && clock.monotonicMs() - askedAtMs > ownersAgeMs) {
      askedAtMs = clock.monotonicMs();
      asking = ask();
      asking.catch(() => undefined);
    }
    if (known.size === 0) await asking;
    return byProcess(processes, (each) => known.get(keyOf(each)));
  };
}
