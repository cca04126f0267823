/** What one file keeps of the memory that all of them share. */
export interface Share {
  /** Counts bytes that are about to be kept; all files forget what they keep where there is no room for them. */
  readonly take: (bytes: number) => void;
  readonly end: () => void;
}

export interface Budget {
  /** @param forget is called when the memory is used up. */
  readonly share: (forget: () => void) => Share;
}

/** A bound on what all files keep together: who can write to the journal can write as many values as they like. */
export function createBudget(maxBytes: number): Budget {
  const shares = new Map<Share, () => void>();
  let used = 0;
  return {
    share(forget) {
      const share: Share = {
        take(bytes) {
          if (used + bytes > maxBytes) {
            for (const forgetOne of shares.values()) forgetOne();
            used = 0;
          }
          used += bytes;
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
