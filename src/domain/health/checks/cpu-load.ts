import type { HostFacts } from "#domain/ports/host.ts";
import { type Check, grade, thresholdsFor, toPercent } from "../check.ts";

/** How busy the processors were over the last minute. */
export const cpuLoadCheck = (ports: { facts: Pick<HostFacts, "cpuPercent"> }): Check => ({
  id: "cpu_load",
  name: "Processor load",
  category: "cpu",
  severity: "medium",
  async run(settings) {
    const percentUsed = toPercent(await ports.facts.cpuPercent(), 100);
    return {
      status: grade(percentUsed, thresholdsFor({ warn: 80, fail: 95 }, settings)),
      message: `The processors were ${percentUsed} % busy over the last minute`,
      details: { percent_used: percentUsed },
    };
  },
});
