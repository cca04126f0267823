/** What one file keeps of the memory that all of them share. */
export interface Share {
  /** Counts bytes that are about to be kept; all files of the thread forget what they keep where there is no space for them. */
  readonly take: (bytes: number) => void;
  readonly end: () => void;
}

export interface Budget {
  /** @param forget is called when the memory is used up. */
  readonly share: (forget: () => void) => Share;
  /** How many bytes more this thread may keep beside its shares; fewer than none where these or others have taken theirs meanwhile. */
  readonly space: () => number;
  /** Counts bytes that are kept, or no more where there are fewer than none, without having others forget anything. */
  readonly count: (bytes: number) => void;
}

export interface BudgetLimits {
  /** For all threads. */
  readonly maxBytes: number;
  /** What a thread may keep however much others do. */
  readonly ownBytes: number;
  /** What its shares may keep of that whatever else it keeps: with no space at all they would forget everything with each value. */
  readonly sharedBytes: number;
  /** What each thread keeps. */
  readonly usage: Int32Array;
  /** The place of this thread there. */
  readonly place: number;
}

/** A bound on what all threads keep together: who can write to the journal can write as many values as they like. */
export function createBudget({ maxBytes, ownBytes, sharedBytes, usage, place }: BudgetLimits): Budget {
  const shares = new Map<Share, () => void>();
  let shared = 0;
  const count = (bytes: number): void => void Atomics.add(usage, place, bytes);
  const left = (): number => {
    const own = Atomics.load(usage, place);
    let all = 0;
    for (let index = 0; index < usage.length; index += 1) all += Atomics.load(usage, index);
    return Math.max(ownBytes, maxBytes - all + own) - own;
  };
  return {
    space: () => left() - Math.max(0, sharedBytes - shared),
    count,
    share(forget) {
      const share: Share = {
        take(bytes) {
          if (shared + bytes > sharedBytes && bytes > left()) {
            for (const forgetOne of shares.values()) forgetOne();
            count(-shared);
            shared = 0;
          }
          shared += bytes;
          count(bytes);
        },
        end() {
          forget();
          shares.delete(share);
        },
      };
      shares.set(share, forget);
      return share;
    },
  };
}
