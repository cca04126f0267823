import { readdir, readFile, stat } from "node:fs/promises";
import { release } from "node:os";
import { join } from "node:path";
import type { RebootNeed } from "#domain/ports/host.ts";
import { orUndefined } from "#kernel/errors.ts";

export function createRebootNeed(
  directories: { run: string; modules: string; kernel: string } = {
    run: "/run",
    modules: "/lib/modules",
    kernel: release(),
  },
): RebootNeed {
  const isThere = async (path: string): Promise<boolean> => (await orUndefined(stat(path))) !== undefined;

  const installedKernels = async (): Promise<readonly string[]> => {
    const found = (await orUndefined(readdir(directories.modules))) ?? [];
    const areInstalled = await Promise.all(
      found.map((name) => isThere(join(directories.modules, name, "modules.order"))),
    );
    return found.filter((_, at) => areInstalled[at]);
  };

  return {
    async reasons() {
      // A container runs on the kernel of the machine around it, whatever is installed inside.
      const isContainer = await isThere(join(directories.run, "systemd/container"));
      const packages = await orUndefined(readFile(join(directories.run, "reboot-required.pkgs"), "utf8"));
      return {
        isRequested: await isThere(join(directories.run, "reboot-required")),
        packages: [...new Set((packages ?? "").split("\n").filter((line) => line !== ""))],
        runningKernel: directories.kernel,
        installedKernels: isContainer ? [] : await installedKernels(),
      };
    },
  };
}
