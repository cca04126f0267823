import type { RebootNeed, RebootReasons } from "#domain/ports/host.ts";

/** A host that is up to date, but for what is said. */
export const createFakeRebootNeed = (changes: Partial<RebootReasons> = {}): RebootNeed => ({
  reasons: () =>
    Promise.resolve({
      isRequested: false,
      packages: [],
      runningKernel: "6.1.0-18-amd64",
      installedKernels: ["6.1.0-18-amd64"],
      ...changes,
    }),
});
