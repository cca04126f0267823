import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openCheckHistory } from "#adapters/check-history/index.ts";
import type { CheckStatus } from "#contract/checks.ts";
import { createCheckStates } from "#domain/health/check-states.ts";
import { createRunHistory } from "#domain/health/history/history.ts";
import { createFakeClock } from "../../fakes/clock.ts";

const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
export const checks = 40;
const start = Date.parse("2026-01-01T00:00:00Z");

const tables = ["runs", "transitions", "hours", "series", "minutes", "point_hours"] as const;

/** Three change at each run, seven some times a day, ten once a week, the others never. */
function statusOf(check: number, minute: number): CheckStatus {
  if (check < 3) return minute % 2 === 0 ? "pass" : "warn";
  if (check < 10) return (minute + 37 * check) % 400 < 20 ? "warn" : "pass";
  if (check < 20) return (minute + 511 * check) % 10_000 < 90 ? "fail" : "pass";
  return check === 39 ? "skip" : "pass";
}

/** As of a check of disks: two or three figures for half of the checks. */
const detailsOf = (check: number, minute: number): Readonly<Record<string, number>> =>
  check % 2 === 0
    ? { percent_used: ((minute + check) % 1000) / 10, free_gb: 87.5, ...(check % 4 === 0 && { total_gb: 105.1 }) }
    : {};

function open(stateDir: string) {
  const clock = createFakeClock(start);
  const store = openCheckHistory({
    stateDir,
    onTrouble(error) {
      throw error;
    },
  });
  const history = createRunHistory(store);
  const states = createCheckStates({
    history,
    clock,
    onTrouble(error) {
      throw error;
    },
  });
  for (let check = 0; check < checks; check += 1) states.restore(judgedOf(check));
  return { store, history, states, clock };
}

const judgedOf = (check: number) => ({
  id: `check_${check}`,
  severity: "medium" as const,
  intervalMs: minuteMs,
  attempts: undefined,
});

function runAll({ states, clock }: ReturnType<typeof open>, minute: number): void {
  for (let check = 0; check < checks; check += 1) {
    const status = statusOf(check, minute);
    const finding = {
      status,
      message: `check_${check} is ${status}: 12.3 GB of 105.1 GB left, ${minute % 1000} in all`,
      details: detailsOf(check, minute),
      checkedAt: start + minute * minuteMs + check * 1000,
      durationMs: 1 + ((minute * check) % 50),
      fix: { fixable: false },
    };
    clock.set(finding.checkedAt);
    const judged = judgedOf(check);
    states.save(judged.id, finding, states.next(judged.id, finding), states.nextHard(judged, status));
  }
  clock.set(start + (minute + 1) * minuteMs - 1);
  states.flush();
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(2)} MB`;

export interface Simulated {
  /** Bytes of all files, at most. */
  readonly bytes: number;
  readonly rows: Readonly<Record<(typeof tables)[number], number>>;
  readonly history: ReturnType<typeof createRunHistory>;
  readonly now: number;
  readonly dispose: () => void;
}

/**
 * Has 40 checks run each minute for days, by a clock that is set. The service is started again every three days, and is gone for ten
 * minutes each week. Prints size and rows.
 */
export async function simulateHistory(stateDir: string, days: number): Promise<Simulated> {
  let service = open(stateDir);
  let bytes = 0;
  const size = (): number =>
    ["", "-wal", "-shm"].reduce(
      (sum, ending) =>
        sum + (statSync(join(stateDir, `check-history.db${ending}`), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  for (let minute = 0; minute < (days * dayMs) / minuteMs; minute += 1) {
    if (minute % (3 * 24 * 60) === 1000) {
      service.store.dispose();
      service = open(stateDir);
    }
    const ofWeek = minute % (7 * 24 * 60);
    if (ofWeek >= 1200 && ofWeek < 1210) continue;
    runAll(service, minute);
    if (minute % 60 !== 0) continue;
    // What is old is forgotten once an hour of a clock that is never set.
    await service.clock.advance(hourMs);
    service.clock.set(start + (minute + 1) * minuteMs - 1);
    service.states.prune();
    bytes = Math.max(bytes, size());
  }
  service.store.dispose();
  const database = new DatabaseSync(join(stateDir, "check-history.db"));
  const rows = Object.fromEntries(
    tables.map((table) => [table, Number(database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.["rows"])]),
  ) as Simulated["rows"];
  database.close();

  const { history, store } = open(stateDir);
  const now = start + days * dayMs;
  process.stdout.write(
    `${checks} checks over ${days} days: ${megabytes(size())}, ${megabytes(bytes)} at most with its log; rows ${JSON.stringify(rows)}\n`,
  );
  return { bytes, rows, history, now, dispose: store.dispose };
}
