import type { HostFacts } from "#domain/ports/host.ts";
import { type Check, grade, thresholdsFor, toPercent } from "../check.ts";

/** Open file handles of all processes, compared with fs.file-max. */
export const fileDescriptorsCheck = (ports: { facts: Pick<HostFacts, "fileHandles"> }): Check => ({
  id: "file_descriptors",
  name: "File descriptors",
  category: "processes",
  severity: "high",
  async run(settings) {
    const { used, maximum } = await ports.facts.fileHandles();
    const percentUsed = toPercent(used, maximum);
    return {
      status: grade(percentUsed, thresholdsFor({ warn: 70, fail: 90 }, settings)),
      message: `${percentUsed} % of the file handles of the system are open: ${used} of ${maximum}`,
      details: { percent_used: percentUsed, used, maximum },
    };
  },
});
