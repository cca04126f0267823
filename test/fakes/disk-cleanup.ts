import type { CleanupCandidate, DiskCleanup } from "#domain/ports/storage.ts";

export interface FakeDiskCleanup extends DiskCleanup {
  /** What there is from now on. */
  candidates: readonly CleanupCandidate[];
  /** What was not read, and why. */
  unread: readonly string[];
  /** Why nothing can be removed from a directory. */
  readonly refusals: Map<string, string>;
}

/** Directories with files that may go. */
export function createFakeDiskCleanup(candidates: readonly CleanupCandidate[] = []): FakeDiskCleanup {
  const fake: FakeDiskCleanup = {
    candidates,
    unread: [],
    refusals: new Map(),
    find: () => Promise.resolve({ candidates: fake.candidates, unread: fake.unread }),
    async remove({ directory, files }) {
      await Promise.resolve();
      const refusal = fake.refusals.get(directory);
      if (refusal !== undefined) throw new Error(refusal);
      const there = fake.candidates.find((each) => each.directory === directory);
      if (there === undefined) return { files: 0, bytes: 0 };
      fake.candidates = fake.candidates.filter((each) => each !== there);
      return { files: there.files.filter((name) => files.includes(name)).length, bytes: there.bytes };
    },
  };
  return fake;
}
