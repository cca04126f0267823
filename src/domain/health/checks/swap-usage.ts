import type { HostFacts } from "#domain/ports/host.ts";
import type { HostFiles } from "#domain/ports/host-files.ts";
import type { Clock } from "#kernel/clock.ts";
import { flatKey, formatBytes } from "#kernel/text.ts";
import { type BuiltInCheck, skip, thresholdsFor, toGigabytes, toPercent } from "../check.ts";
import { createGrader } from "../grading.ts";

/** Pages in and out by the second from which swap is in use: 256 KiB with pages of 4 KiB. */
const busyPages = 64;
/** For so long the host counts as swapping after it was seen to. */
const busyMs = 10 * 60_000;
/** The first run of a process has nothing to compare with. */
const firstSampleMs = 1_000;

/** Pages since boot that were read from swap and written to it, by `/proc/vmstat`; undefined for a kernel without swap. */
export function parseSwapTraffic(text: string): number | undefined {
  const [pagesIn, pagesOut] = [flatKey(text, "pswpin"), flatKey(text, "pswpout")];
  return pagesIn === undefined || pagesOut === undefined ? undefined : pagesIn + pagesOut;
}

const limits = { warn: 50, fail: 90 };

export function swapUsageCheck(ports: {
  facts: Pick<HostFacts, "memory">;
  hostFiles: Pick<HostFiles, "text">;
  clock: Pick<Clock, "monotonicMs" | "sleep">;
}): BuiltInCheck {
  const { facts, hostFiles, clock } = ports;
  let last: { readonly atMs: number; readonly pages: number } | undefined;
  let busyAtMs = Number.NEGATIVE_INFINITY;

  const sample = async () => {
    const pages = parseSwapTraffic(await hostFiles.text("/proc/vmstat"));
    return pages === undefined ? undefined : { atMs: clock.monotonicMs(), pages };
  };
  /** Pages by the second since the last run; undefined where the kernel does not count them. */
  const pagesPerSecond = async (signal: AbortSignal): Promise<number | undefined> => {
    const before = last ?? (await sample());
    if (before === undefined) return undefined;
    if (clock.monotonicMs() - before.atMs < firstSampleMs) await clock.sleep(firstSampleMs, signal);
    const now = await sample();
    if (now === undefined) return undefined;
    last = now;
    const rate = ((now.pages - before.pages) * 1000) / (now.atMs - before.atMs);
    if (rate >= busyPages) busyAtMs = now.atMs;
    return Math.round(rate);
  };

  return {
    id: "swap_usage",
    name: "Swap usage",
    category: "memory",
    severity: "medium",
    thresholds: limits,
    about:
      "How much of the swap space is taken, where pages move between it and memory: 64 in a second, seen in the " +
      "last ten minutes. What was moved there once and is not missed does no harm, however full the swap space is.",
    meaning: "Memory is too small for the workload: pages move to and from swap, which makes everything slow.",
    remedy: "Find what uses memory (ps aux --sort=-rss | head), limit it or add memory; more swap only postpones it.",
    async run(settings, signal) {
      const { swapTotalBytes, swapFreeBytes } = await facts.memory();
      if (swapTotalBytes === 0) return skip("This host has no swap space");
      const percentUsed = toPercent(swapTotalBytes - swapFreeBytes, swapTotalBytes);
      const thresholds = thresholdsFor(limits, settings);
      const grader = createGrader(settings);
      // While little is taken, what moves does not matter, and a first run need not wait for it.
      const matters = percentUsed >= Math.min(thresholds.warn, thresholds.fail) / 2;
      const rate = matters ? await pagesPerSecond(signal) : undefined;
      const isQuiet = rate !== undefined && clock.monotonicMs() - busyAtMs >= busyMs;
      const left = `${percentUsed} % of swap is used: ${formatBytes(swapFreeBytes)} of ${formatBytes(swapTotalBytes)} left`;
      const details = {
        percent_used: percentUsed,
        total_gb: toGigabytes(swapTotalBytes),
        free_gb: toGigabytes(swapFreeBytes),
        ...(rate !== undefined && { pages_per_second: rate }),
      };
      const figures = { details, thresholds: { percent_used: thresholds } };
      if (isQuiet) return { status: "pass", message: `${left}, with almost no swapping`, ...figures };
      return grader.finish({ status: grader.grade(percentUsed, thresholds), message: left, ...figures });
    },
  };
}
