import type { HostFiles } from "#domain/ports/host-files.ts";
import { orUndefined } from "#kernel/errors.ts";
import { type Check, skip, thresholdsFor, toPercent } from "../check.ts";
import { createGrader } from "../grading.ts";

const folder = "/proc/sys/net/netfilter";

/** Of the network namespace of the service. Undefined where the kernel does not track connections, or does not say how many it may. */
async function usageIn(files: Pick<HostFiles, "text">) {
  const [entries, maximum = "0"] = await Promise.all(
    ["nf_conntrack_count", "nf_conntrack_max"].map((name) => orUndefined(files.text(`${folder}/${name}`))),
  );
  // 0: no limit.
  return entries === undefined || Number(maximum) === 0
    ? undefined
    : { entries: Number(entries), maximum: Number(maximum) };
}

/** How full the kernel's table of connections is, in percent: when it is full, new connections are dropped. */
export const conntrackCheck = (ports: { hostFiles: Pick<HostFiles, "text"> }): Check => ({
  id: "conntrack",
  name: "Tracked connections",
  category: "network",
  severity: "high",
  async run(settings) {
    const usage = await usageIn(ports.hostFiles);
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
