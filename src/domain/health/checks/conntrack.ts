import type { HostFiles } from "#domain/ports/host-files.ts";
import { orUndefined } from "#kernel/errors.ts";
import { type BuiltInCheck, skip, thresholdsFor, toPercent } from "../check.ts";
import { createGrader } from "../grading.ts";

const directory = "/proc/sys/net/netfilter";

/** Of the network namespace of the service. Undefined where the kernel does not track connections, or does not say how many it may. */
async function usageIn(files: Pick<HostFiles, "text">) {
  const [entries, maximum = "0"] = await Promise.all(
    ["nf_conntrack_count", "nf_conntrack_max"].map((name) => orUndefined(files.text(`${directory}/${name}`))),
  );
  // 0: no limit.
  return entries === undefined || Number(maximum) === 0
    ? undefined
    : { entries: Number(entries), maximum: Number(maximum) };
}

const limits = { warn: 80, fail: 95 };

export const conntrackCheck = (ports: { hostFiles: Pick<HostFiles, "text"> }): BuiltInCheck => ({
  id: "conntrack",
  name: "Tracked connections",
  category: "network",
  severity: "high",
  thresholds: limits,
  about: "How full the kernel's table of connections is, in percent: when it is full, new connections are dropped.",
  meaning: "The connection tracking table of the kernel is nearly full: once it is full, new connections are dropped.",
  remedy: "See who opens them (conntrack -L), and raise net.netfilter.nf_conntrack_max if that is expected.",
  async run(settings) {
    const usage = await usageIn(ports.hostFiles);
    if (usage === undefined) return skip("The kernel does not track connections here");
    const { entries, maximum } = usage;
    const percentUsed = toPercent(entries, maximum);
    const thresholds = thresholdsFor(limits, settings);
    const grader = createGrader(settings);
    const status = grader.grade(percentUsed, thresholds);
    const remedy =
      status === "pass" ? "" : "; when it is full, new connections are dropped (net.netfilter.nf_conntrack_max)";
    return grader.finish({
      status,
      message: `The table of connections is ${percentUsed} % full: ${entries} of ${maximum}${remedy}`,
      details: { percent_used: percentUsed, entries, maximum },
      thresholds: { percent_used: thresholds },
    });
  },
});
