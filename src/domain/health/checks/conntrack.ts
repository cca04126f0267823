import type { Conntrack } from "#domain/ports/kernel.ts";
import { type Check, skip, thresholdsFor, toPercent } from "../check.ts";
import { createGrader } from "../grading.ts";

/** How full the kernel's table of connections is, in percent: when it is full, new connections are dropped. */
export const conntrackCheck = (ports: { conntrack: Conntrack }): Check => ({
  id: "conntrack",
  name: "Tracked connections",
  category: "network",
  severity: "high",
  async run(settings) {
    const usage = await ports.conntrack.usage();
    if (usage === undefined) return skip("The kernel does not track connections here");
    const { entries, maximum } = usage;
    const percentUsed = toPercent(entries, maximum);
    const limits = thresholdsFor({ warn: 80, fail: 95 }, settings);
    const grader = createGrader(settings);
    const status = grader.grade(percentUsed, limits);
    const remedy =
      status === "pass" ? "" : "; when it is full, new connections are dropped (net.netfilter.nf_conntrack_max)";
    return grader.finish({
      status,
      message: `The table of connections is ${percentUsed} % full: ${entries} of ${maximum}${remedy}`,
      details: { percent_used: percentUsed, entries, maximum },
      thresholds: { percent_used: limits },
    });
  },
});
