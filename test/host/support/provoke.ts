import { expect, it } from "vitest";
import type { CheckStatus } from "#contract/checks.ts";
import type { How, Provocation, ProvokedCheck } from "./provocations.ts";
import { provocations } from "./provocations.ts";

/** Notes what a check said, and gives it back. */
type See = <T extends { readonly status: CheckStatus }>(outcome: T) => T;

/**
 * A test that provokes a check as the table says. It fails unless all statuses of the table were seen on the way, so the
 * table says nothing that no test has shown.
 */
export function provoke<Id extends ProvokedCheck>(
  id: Id,
  how: How<Id>,
  run: (see: See) => Promise<void>,
  /** Says that it hangs, not that the machine is busy. */
  timeoutMs = 600_000,
): void {
  const rows: readonly Provocation[] = provocations[id];
  const row = rows.find((each) => each.how === how);
  if (row === undefined) throw new Error(`no provocation of ${id} is called ${how}`);
  it(`${id}: ${how}${row.isReal ? "" : " (recorded)"}`, { timeout: timeoutMs }, async () => {
    const seen = new Set<CheckStatus>();
    await run((outcome) => {
      seen.add(outcome.status);
      return outcome;
    });
    expect([...seen]).toEqual(expect.arrayContaining([...row.statuses]));
  });
}
