import type { PackageFaults, PackageStates } from "#domain/ports/packages.ts";

export interface FakePackageStates extends PackageStates {
  /** What is found from now on. */
  found: PackageFaults | undefined;
}

/** Packages of which nothing is wrong, but for what is said; undefined stands for a host without a package manager. */
export function createFakePackageStates(changes: Partial<PackageFaults> | undefined = {}): FakePackageStates {
  const states: FakePackageStates = {
    manager: changes && "apt",
    found: changes && {
      installed: 2,
      unfinished: [],
      isInterrupted: false,
      unmet: [],
      held: [],
      writer: undefined,
      ...changes,
    },
    faults: () => Promise.resolve(states.found),
  };
  return states;
}
