import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { Processes, ProcessOwners } from "#domain/ports/processes.ts";
import type { Clock } from "#kernel/clock.ts";
import type { RequestRoot } from "./request.ts";

/** Root is asked for users at most so often: each time it starts a process. */
const ownersAgeMs = 60_000;

const never = new AbortController().signal;

/** Signals, which root sends: a service without rights can send none to others. */
export const processesThroughRoot = (processes: Processes, request: RequestRoot): Processes => ({
  ...processes,
  async signal({ pid, startTicks }, signal) {
    await request("processes.signal", { pid, start_ticks: startTicks, signal }, never);
  },
});

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
      const { owners } = await request("processes.owners", {}, never);
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
