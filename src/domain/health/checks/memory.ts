import type { HostFacts } from "#domain/ports/host.ts";
import { formatBytes } from "#kernel/text.ts";
import { type BuiltInCheck, skip, thresholdsFor, toGigabytes, toPercent } from "../check.ts";
import { createGrader } from "../grading.ts";

const limits = { warn: 85, fail: 95 };

export const memoryCheck = (ports: { facts: Pick<HostFacts, "memory"> }): BuiltInCheck => ({
  id: "memory",
  name: "Memory",
  category: "memory",
  severity: "high",
  thresholds: limits,
  about: "Used memory without caches that the kernel can free at once.",
  meaning: "Little memory is available without swapping: the OOM killer may soon kill a process.",
  remedy: "Find what uses it (ps aux --sort=-rss | head), limit or restart it, or add memory.",
  guardedBy: "failure",
  async run(settings) {
    const { totalBytes, availableBytes } = await ports.facts.memory();
    if (totalBytes === 0) return skip("The kernel does not report its memory usage");
    const percentUsed = toPercent(totalBytes - availableBytes, totalBytes);
    const thresholds = thresholdsFor(limits, settings);
    const grader = createGrader(settings);
    return grader.finish({
      status: grader.grade(percentUsed, thresholds),
      message: `${percentUsed} % of memory is used: ${formatBytes(availableBytes)} of ${formatBytes(totalBytes)} available`,
      details: {
        percent_used: percentUsed,
        total_gb: toGigabytes(totalBytes),
        available_gb: toGigabytes(availableBytes),
      },
      thresholds: { percent_used: thresholds },
    });
  },
});
