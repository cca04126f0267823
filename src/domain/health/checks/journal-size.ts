import type { Journal } from "#domain/ports/journal.ts";
import { formatBytes } from "#kernel/text.ts";
import { type BuiltInCheck, skip, thresholdsFor, toGigabytes } from "../check.ts";
import { createGrader, inUnit } from "../grading.ts";

const limits = { warn: 5, fail: 10 };

export const journalSizeCheck = ({ journal }: { journal: Pick<Journal, "size"> }): BuiltInCheck => ({
  id: "journal_size",
  name: "Size of the journal",
  category: "storage",
  severity: "low",
  thresholds: limits,
  about:
    "Size of the journal files in GB: by default 5 warns, 10 fails. journald keeps at most 4 GiB (4.3 GB) unless " +
    "SystemMaxUse says otherwise, so a journal near that limit is healthy. More means that the limit was raised, " +
    "or that there are files which journald does not remove: of another machine id, or with foreign names.",
  meaning: "The journal takes more space than journald's own limit.",
  remedy: "Shrink it (journalctl --vacuum-size=1G) or set SystemMaxUse= in journald.conf.",
  intervalMs: 10 * 60_000,
  fixes: ["vacuum_journal"],
  async run(settings, signal) {
    const { warn, fail } = thresholdsFor(limits, settings);
    const size = await journal.size(signal);
    if (size === undefined) return skip("This host keeps no journal");
    const totalBytes = size.diskBytes + size.memoryBytes;
    const totalGb = toGigabytes(totalBytes);
    const details = {
      total_gb: totalGb,
      warn_gb: Math.min(warn, fail),
      disk_bytes: size.diskBytes,
      memory_bytes: size.memoryBytes,
      files: size.files,
    };
    const figures = { details, thresholds: { total_gb: { warn, fail } } };
    const grader = createGrader(settings, inUnit("GB"));
    const status = grader.grade(totalGb, { warn, fail });
    if (status === "pass") return { status, message: `The journal takes ${formatBytes(totalBytes)}`, ...figures };
    return grader.finish({
      status,
      message: `The journal takes ${formatBytes(totalBytes)}, more than journald keeps by itself (shrink it with journalctl --vacuum-size=1G, or set SystemMaxUse)`,
      ...figures,
    });
  },
});
