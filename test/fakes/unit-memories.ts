import type { UnitMemories, UnitMemory } from "#domain/ports/kernel.ts";

/** A unit that uses half of its gigabyte. */
export const fakeUnitMemory = (given: Partial<UnitMemory> = {}): UnitMemory => ({
  name: "app.service",
  usedBytes: 2 ** 29,
  limitBytes: 2 ** 30,
  oomKills: 0,
  ...given,
});

export interface FakeUnitMemories extends UnitMemories {
  /** What there is from now on; undefined: memory is not counted by unit. */
  units: readonly UnitMemory[] | undefined;
}

export function createFakeUnitMemories(units?: readonly UnitMemory[]): FakeUnitMemories {
  const fake: FakeUnitMemories = { units, list: () => Promise.resolve(fake.units) };
  return fake;
}
