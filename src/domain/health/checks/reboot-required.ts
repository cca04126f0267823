import { newerKernel } from "#domain/common/newer-kernel.ts";
import type { RebootNeed } from "#domain/ports/host.ts";
import { listNames } from "#kernel/text.ts";
import type { Check } from "../check.ts";

/** Whether a package asked for a reboot, or a newer kernel is installed. */
export const rebootRequiredCheck = ({ reboot }: { reboot: RebootNeed }): Check => ({
  id: "reboot_required",
  name: "Reboot required",
  category: "updates",
  severity: "medium",
  async run() {
    const { isRequested, packages, runningKernel, installedKernels } = await reboot.reasons();
    const newer = newerKernel(runningKernel, installedKernels);
    const details = {
      requested: isRequested,
      packages,
      running_kernel: runningKernel,
      ...(newer !== undefined && { newest_kernel: newer }),
    };
    const reasons = [
      ...(isRequested ? [packages.length > 0 ? `${listNames(packages)} asked for it` : "a package asked for it"] : []),
      ...(newer === undefined ? [] : [`kernel ${newer} is installed and ${runningKernel} runs`]),
    ];
    if (reasons.length === 0) return { status: "pass", message: "No reboot is needed", details };
    return { status: "warn", message: `Updates take effect only after a reboot: ${reasons.join("; ")}`, details };
  },
});
