import type { StaleCode, StaleProcess } from "#domain/ports/updates.ts";

export interface FakeStaleCode extends StaleCode {
  processes: readonly StaleProcess[];
  hidden: number;
}

export const fakeStaleProcess = (unit: string | null, rest: Partial<StaleProcess> = {}): StaleProcess => ({
  pid: 100,
  name: "program",
  unit,
  files: ["/usr/lib/libtls.so.3"],
  ...rest,
});

/** Processes in memory. @param isRestarted whether a unit runs new processes by now. */
export function createFakeStaleCode(
  processes: readonly StaleProcess[] = [],
  isRestarted: (unit: string) => boolean = () => false,
): FakeStaleCode {
  const fake: FakeStaleCode = {
    processes,
    hidden: 0,
    find() {
      const left = fake.processes.filter(({ unit }) => unit === null || !isRestarted(unit));
      return Promise.resolve({ processes: left, hidden: fake.hidden });
    },
  };
  return fake;
}
