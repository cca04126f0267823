import type { InstalledPackage, OldKernels, TransactionPlan } from "#domain/ports/packages.ts";
import { oldKernelPackages } from "#domain/updates/kernel-packages.ts";

export interface FakeOldKernels extends OldKernels {
  plan: OldKernels["plan"];
  /** The release of the kernel that runs. */
  running: string;
}

/** Of packages that nothing needs: each old kernel may go. */
export function createFakeOldKernels(
  installed: () => readonly InstalledPackage[],
  remove: (plan: TransactionPlan) => Promise<void>,
): FakeOldKernels {
  const fake: FakeOldKernels = {
    running: "6.1.0-20-amd64",
    plan() {
      const changes = oldKernelPackages(installed(), fake.running).map(({ name, architecture, version }) => {
        return { name, architecture, from: version, to: null, isSecurity: false };
      });
      return Promise.resolve({ changes, downloadBytes: 0, diskBytes: -1000 * changes.length });
    },
    remove,
  };
  return fake;
}
