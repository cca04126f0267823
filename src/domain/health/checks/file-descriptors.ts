import type { HostFacts } from "#domain/ports/host.ts";
import type { ProcessFiles } from "#domain/ports/kernel.ts";
import { type Check, createIgnore, thresholdsFor, toPercent } from "../check.ts";
import { combineFindings, createGrader } from "../grading.ts";

const mostListed = 20;

/**
 * Processes by the files that they have open, compared with their own limits, and those of the whole system, compared with fs.file-max
 * where that is finite. `ignore` takes names of processes, and patterns.
 */
export const fileDescriptorsCheck = (ports: {
  facts: Pick<HostFacts, "fileHandles">;
  processFiles: ProcessFiles;
}): Check => ({
  id: "file_descriptors",
  name: "File descriptors",
  category: "processes",
  severity: "high",
  async run(settings) {
    const limits = thresholdsFor({ warn: 70, fail: 90 }, settings);
    const grader = createGrader(settings);
    const { used, maximum } = await ports.facts.fileHandles();
    const isIgnored = createIgnore(settings.ignore);
    const processes = (await ports.processFiles.busiest(mostListed)).filter(({ name }) => !isIgnored(name));
    const percentUsed = toPercent(used, maximum);
    const system = {
      status: grader.grade(percentUsed, limits),
      problem: `${percentUsed} % of the file handles of the system are open: ${used} of ${maximum}`,
    };
    const findings = processes.map(({ pid, name, open, limit }) => {
      const percent = toPercent(open, limit);
      const problem = `${name} (${pid}) has ${percent} % of its files open: ${open} of ${limit} (LimitNOFILE=)`;
      return { pid, name, open, limit, percent, status: grader.grade(percent, limits, `${name} (${pid})`), problem };
    });
    const outcome = combineFindings([system, ...findings], "No process is near its limit of open files", {
      percent_used: percentUsed,
      used,
      // systemd sets it to the greatest number that there is, which means none.
      maximum: Number.isSafeInteger(maximum) ? maximum : null,
      processes: findings
        .filter(({ status }) => status !== "pass")
        .map(({ pid, name, open, limit, percent }) => ({ pid, name, open, limit, percent_used: percent })),
    });
    return grader.finish({ ...outcome, thresholds: { percent_used: limits } });
  },
});
