import type { JournalSize, JournalStorage } from "#domain/ports/journal.ts";

/** What journald keeps for the files that it writes, once they are new. */
const activeBytes = 8 * 2 ** 20;

export interface FakeJournalStorage extends JournalStorage {
  /** The size from now on. */
  now: JournalSize | undefined;
  /** What was done, in order. */
  readonly actions: readonly string[];
  /** journalctl refuses with this message from now on. */
  refusal: string | undefined;
}

/** A small journal on the disk, with what a test wants otherwise. */
export const fakeJournalSize = (given: Partial<JournalSize> = {}): JournalSize => ({
  diskBytes: 0,
  memoryBytes: 0,
  files: 3,
  folder: "/var/log/journal",
  archivedBytes: 0,
  activeBytes: 0,
  ...given,
});

/** A journal of this size; none where there is no size. */
export function createFakeJournalStorage(
  size: JournalSize | undefined,
  { canRotate = true, strangeBytes = 0 }: { readonly canRotate?: boolean; readonly strangeBytes?: number } = {},
): FakeJournalStorage {
  const actions: string[] = [];
  const act = async (action: string, change: (now: JournalSize) => JournalSize): Promise<void> => {
    await Promise.resolve();
    if (fake.refusal !== undefined) throw new Error(fake.refusal);
    actions.push(action);
    fake.now &&= change(fake.now);
  };
  const fake: FakeJournalStorage = {
    now: size,
    actions,
    refusal: undefined,
    size: () => Promise.resolve(fake.now),
    canRotate,
    rotate: () =>
      act("rotate", (now) => ({
        ...now,
        archivedBytes: Math.max(0, now.diskBytes - strangeBytes),
        diskBytes: now.diskBytes + activeBytes,
        files: now.files + 1,
      })),
    vacuum: (keepBytes) =>
      act(`vacuum ${keepBytes}`, (now) => {
        const archivedBytes = Math.min(now.archivedBytes, keepBytes);
        return { ...now, archivedBytes, diskBytes: now.diskBytes - now.archivedBytes + archivedBytes };
      }),
  };
  return fake;
}
