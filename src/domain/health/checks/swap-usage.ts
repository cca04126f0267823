import type { HostFacts } from "#domain/ports/host.ts";
import { formatBytes } from "#kernel/text.ts";
import { type Check, grade, skip, thresholdsFor, toGigabytes, toPercent } from "../check.ts";

/** How much of the swap space is taken. */
export const swapUsageCheck = (ports: { facts: Pick<HostFacts, "memory"> }): Check => ({
  id: "swap_usage",
  name: "Swap usage",
  category: "memory",
  severity: "medium",
  async run(settings) {
    const { swapTotalBytes, swapFreeBytes } = await ports.facts.memory();
    if (swapTotalBytes === 0) return skip("This host has no swap space");
    const percentUsed = toPercent(swapTotalBytes - swapFreeBytes, swapTotalBytes);
    return {
      status: grade(percentUsed, thresholdsFor({ warn: 50, fail: 90 }, settings)),
      message: `${percentUsed} % of swap is used: ${formatBytes(swapFreeBytes)} of ${formatBytes(swapTotalBytes)} left`,
      details: {
        percent_used: percentUsed,
        total_gb: toGigabytes(swapTotalBytes),
        free_gb: toGigabytes(swapFreeBytes),
      },
    };
  },
});
