import type { UnitState, UnitStates } from "#domain/ports/units.ts";

export interface FakeUnitStates extends UnitStates {
  units: readonly UnitState[];
}

/** A unit that runs, unless said otherwise. */
export const unitState = (name: string, changes: Partial<UnitState> = {}): UnitState => ({
  name,
  loadState: "loaded",
  activeState: "active",
  subState: "running",
  restarts: 0,
  result: "success",
  ...changes,
});

/** Units that are as a test sets them. */
export function createFakeUnitStates(units: readonly UnitState[] = []): FakeUnitStates {
  const fake: FakeUnitStates = {
    units,
    list: () => Promise.resolve(fake.units),
    failed() {
      const loaded = fake.units.filter(({ loadState }) => loadState !== "");
      const failed = loaded.filter(({ activeState }) => activeState === "failed");
      return Promise.resolve(loaded.length === 0 ? undefined : failed.map(({ name, result }) => ({ name, result })));
    },
  };
  return fake;
}
