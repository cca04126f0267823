import type { HostFacts } from "#domain/ports/host.ts";
import { type Check, thresholdsFor, toPercent } from "../check.ts";
import { createGrader } from "../grading.ts";

const minuteMs = 60_000;

/** How busy the processors were over the last minute, or over the last five or ten where `over` says so. */
export const cpuLoadCheck = (ports: { facts: Pick<HostFacts, "cpuPercent"> }): Check => ({
  id: "cpu_load",
  name: "Processor load",
  category: "cpu",
  severity: "medium",
  async run({ overMs = minuteMs, ...settings }) {
    const percentUsed = toPercent(await ports.facts.cpuPercent(overMs), 100);
    const limits = thresholdsFor({ warn: 80, fail: 95 }, settings);
    const grader = createGrader(settings);
    const time = overMs === minuteMs ? "minute" : `${overMs / minuteMs} minutes`;
    return grader.finish({
      status: grader.grade(percentUsed, limits),
      message: `The processors were ${percentUsed} % busy over the last ${time}`,
      details: { percent_used: percentUsed },
      thresholds: { percent_used: limits },
    });
  },
});
