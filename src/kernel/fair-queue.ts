/** How much of one kind of work there may be. */
export interface FairQueueLimits {
  readonly atOnce: number;
  readonly atOncePerOwner: number;
  /** How much one owner may have waiting; what comes on top is refused. */
  readonly waitingPerOwner: number;
}

/** Too much of one owner's work is there already. */
export class QueueFull extends Error {
  override readonly name = "QueueFull";
}

/** @throws QueueFull; the reason of the signal when it fires while the work waits. */
export type FairQueue = <T>(owner: string, work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

interface Owner {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * Lets owners take turns at work that is dear: anyone who has least of it running comes next, and among those anyone who has waited
 * longest for a turn. However much one owner asks for, another waits for no more than one piece of work.
 */
export function createFairQueue({ atOnce, atOncePerOwner, waitingPerOwner }: FairQueueLimits): FairQueue {
  /** Those with work, in the order of their turns. */
  const owners = new Map<string, Owner>();
  let running = 0;

  const nextOwner = (): [name: string, owner: Owner] | undefined => {
    let next: [string, Owner] | undefined;
    for (const [name, owner] of owners) {
      const mayRun = owner.waiting.length > 0 && owner.running < atOncePerOwner;
      if (mayRun && (next === undefined || owner.running < next[1].running)) next = [name, owner];
    }
    return next;
  };

  const dispatch = (): void => {
    while (running < atOnce) {
      const next = nextOwner();
      if (next === undefined) return;
      const [name, owner] = next;
      running += 1;
      owner.running += 1;
      // To the end of the turns.
      owners.delete(name);
      owners.set(name, owner);
      owner.waiting.shift()?.();
    }
  };

  const forgetIdle = (name: string, owner: Owner): void => {
    if (owner.running === 0 && owner.waiting.length === 0) owners.delete(name);
  };

  const turn = (name: string, owner: Owner, signal: AbortSignal): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const start = (): void => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const leave = (): void => {
      owner.waiting.splice(owner.waiting.indexOf(start), 1);
      forgetIdle(name, owner);
      reject(signal.reason);
    };
    owner.waiting.push(start);
    signal.addEventListener("abort", leave, { once: true });
    dispatch();
    return promise;
  };

  return async (name, work, signal) => {
    signal.throwIfAborted();
    const owner = owners.get(name) ?? { running: 0, waiting: [] };
    if (owner.running + owner.waiting.length >= atOncePerOwner + waitingPerOwner) throw new QueueFull();
    owners.set(name, owner);
    await turn(name, owner, signal);
    try {
      return await work();
    } finally {
      running -= 1;
      owner.running -= 1;
      forgetIdle(name, owner);
      dispatch();
    }
  };
}
