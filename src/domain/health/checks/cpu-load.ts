import type { HostFacts } from "#domain/ports/host.ts";
import { type BuiltInCheck, thresholdsFor, toPercent } from "../check.ts";
import { createGrader } from "../grading.ts";

const minuteMs = 60_000;

const limits = { warn: 80, fail: 95 };

export const cpuLoadCheck = (ports: { facts: Pick<HostFacts, "cpuPercent"> }): BuiltInCheck => ({
  id: "cpu_load",
  name: "Processor load",
  category: "cpu",
  severity: "medium",
  thresholds: limits,
  about: "How busy the processors were over the last minute, or over the last five or ten where `over` says so.",
  meaning: "The processors have been busy nearly all the time, and tasks wait for them.",
  remedy: "See what runs (top); if the load is expected, raise the thresholds or set `over: 10m`.",
  async run({ overMs = minuteMs, ...settings }) {
    const percentUsed = toPercent(await ports.facts.cpuPercent(overMs), 100);
    const thresholds = thresholdsFor(limits, settings);
    const grader = createGrader(settings);
    const time = overMs === minuteMs ? "minute" : `${overMs / minuteMs} minutes`;
    return grader.finish({
      status: grader.grade(percentUsed, thresholds),
      message: `The processors were ${percentUsed} % busy over the last ${time}`,
      details: { percent_used: percentUsed },
      thresholds: { percent_used: thresholds },
    });
  },
});
