import type { HostFacts } from "#domain/ports/host.ts";
import { formatBytes } from "#kernel/text.ts";
import { type Check, skip, thresholdsFor, toGigabytes, toPercent } from "../check.ts";
import { createGrader } from "../grading.ts";

/** Used memory without caches that the kernel can free at once. */
export const memoryCheck = (ports: { facts: Pick<HostFacts, "memory"> }): Check => ({
  id: "memory",
  name: "Memory",
  category: "memory",
  severity: "high",
  guardedBy: "failure",
  async run(settings) {
    const { totalBytes, availableBytes } = await ports.facts.memory();
    if (totalBytes === 0) return skip("The kernel does not report its memory usage");
    const percentUsed = toPercent(totalBytes - availableBytes, totalBytes);
    const limits = thresholdsFor({ warn: 85, fail: 95 }, settings);
    const grader = createGrader(settings);
    return grader.finish({
      status: grader.grade(percentUsed, limits),
      message: `${percentUsed} % of memory is used: ${formatBytes(availableBytes)} of ${formatBytes(totalBytes)} available`,
      details: {
        percent_used: percentUsed,
        total_gb: toGigabytes(totalBytes),
        available_gb: toGigabytes(availableBytes),
      },
      thresholds: { percent_used: limits },
    });
  },
});
