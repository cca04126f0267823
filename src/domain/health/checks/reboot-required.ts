import { newerKernel } from "#domain/common/newer-kernel.ts";
import type { RebootNeed } from "#domain/ports/host.ts";
import { listNames } from "#kernel/text.ts";
import type { BuiltInCheck } from "../check.ts";

export const rebootRequiredCheck = ({ reboot }: { reboot: RebootNeed }): BuiltInCheck => ({
  id: "reboot_required",
  name: "Reboot required",
  category: "updates",
  severity: "medium",
  about: "Whether a package asked for a reboot, or a newer kernel is installed.",
  meaning: "An update has been installed that takes effect only after a reboot, usually of the kernel.",
  remedy: "Plan a reboot (steward reboot).",
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
