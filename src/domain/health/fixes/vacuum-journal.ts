import type { Journal, JournalSize } from "#domain/ports/journal.ts";
import { formatBytes } from "#kernel/text.ts";
import type { Outcome } from "../check.ts";
import type { Fix, FixStep } from "../fix.ts";

/** At the threshold itself the check would warn again at once. */
const shareOfThreshold = 0.8;

const totalOf = ({ diskBytes, memoryBytes }: JournalSize): number => diskBytes + memoryBytes;

/** What becomes free; 0 where what cannot be removed is too much already. */
function freedBytes(size: JournalSize, targetBytes: number, canRotate: boolean): number {
  const removable = size.archivedBytes + (canRotate ? size.activeBytes : 0);
  if (size.diskBytes - removable >= targetBytes) return 0;
  return Math.min(Math.max(0, totalOf(size) - targetBytes), removable);
}

function thresholdBytes({ details }: Outcome): number | undefined {
  const warnGb = details["warn_gb"];
  return typeof warnGb === "number" && warnGb > 0 ? warnGb * 1e9 : undefined;
}

/** Shrinks the journal below the threshold of its check: rotates, then removes the oldest archived files that journald vacuums. */
export function vacuumJournalFix({
  journal,
}: {
  journal: Pick<Journal, "size" | "canRotate" | "rotate" | "vacuum">;
}): Fix {
  const sizeNow = async (signal: AbortSignal): Promise<JournalSize> => {
    const size = await journal.size(signal);
    if (size === undefined) throw new Error("this host keeps no journal any more");
    return size;
  };

  const rotate: FixStep = {
    action: "begin new journal files (journalctl --rotate)",
    async run(signal) {
      await journal.rotate(signal);
      return "The files that were in use can be removed now";
    },
  };

  const vacuum = (targetBytes: number): FixStep => ({
    action: `remove the oldest archived journal files until the journal takes at most ${formatBytes(targetBytes)}`,
    async run(signal) {
      const before = await sizeNow(signal);
      const stays = before.diskBytes - before.archivedBytes;
      if (before.archivedBytes > 0 && stays >= targetBytes)
        throw new Error(
          `nothing was removed: ${formatBytes(stays)} are in files that are in use, of other machines, or not named by journald, which stay; to remove all others would not be enough`,
        );
      const others = totalOf(before) - before.archivedBytes;
      await journal.vacuum(Math.max(0, targetBytes - others), signal);
      const after = await sizeNow(signal);
      const freed = Math.max(0, totalOf(before) - totalOf(after));
      const left = `${formatBytes(freed)} freed; the journal takes ${formatBytes(totalOf(after))}`;
      if (totalOf(after) <= targetBytes) return left;
      const why = "in files that are in use, of other machines, or not named by journald: those stay";
      return `${left}, ${formatBytes(totalOf(after) - after.archivedBytes)} of it ${why}`;
    },
  });

  return {
    id: "vacuum_journal",
    summary: "Removes the oldest entries of the journal until it is below the threshold of its check",
    risk: "moderate",
    alsoNeeds: [],
    kind: "storage",
    mayFindNothing: true,
    endsOnFailure: true,
    async plan(found, signal) {
      const threshold = thresholdBytes(found);
      const size = await journal.size(signal);
      if (threshold === undefined || size === undefined)
        return { steps: [], reason: "there is no journal, or no size that it should have" };
      const targetBytes = Math.floor(threshold * shareOfThreshold);
      const freesBytes = freedBytes(size, targetBytes, journal.canRotate);
      if (!journal.canRotate && size.archivedBytes === 0)
        return { steps: [], reason: `${size.directory} holds no archived files, and journald does not write there` };
      return { steps: [...(journal.canRotate ? [rotate] : []), vacuum(targetBytes)], freesBytes };
    },
  };
}
