import type { MissingPlan, PackageRepairs } from "#domain/ports/packages.ts";

export interface FakePackageRepairs extends PackageRepairs {
  /** What was called, in order. */
  readonly calls: string[];
  /** What planning gives. */
  plan: MissingPlan;
  /** Why every repair fails; null when they succeed. */
  trouble: string | null;
}

/** A plan to install one package, but for what is said. */
export const fakeMissingPlan = (changes: Partial<MissingPlan> = {}): MissingPlan => ({
  reinstalled: [],
  changes: [{ name: "needed", architecture: "all", from: null, to: "1.0" }],
  configured: ["needed", "needy"],
  downloadBytes: 0,
  obstacle: null,
  ...changes,
});

/** Repairs that succeed, until they are told to fail. */
export function createFakePackageRepairs(): FakePackageRepairs {
  const does = (call: string): Promise<void> => {
    repairs.calls.push(call);
    return repairs.trouble === null ? Promise.resolve() : Promise.reject(new Error(repairs.trouble));
  };
  const repairs: FakePackageRepairs = {
    calls: [],
    plan: fakeMissingPlan(),
    trouble: null,
    finish: () => does("finish"),
    planMissing: (reinstalled) => Promise.resolve({ ...repairs.plan, reinstalled }),
    installMissing(plan) {
      if (plan.obstacle !== null) return Promise.reject(new Error(plan.obstacle));
      const isSame = JSON.stringify(plan.changes) === JSON.stringify(repairs.plan.changes);
      return isSame ? does("install") : Promise.reject(new Error("what has to be installed has changed meanwhile"));
    },
    refreshLists: () => does("refresh"),
  };
  return repairs;
}
