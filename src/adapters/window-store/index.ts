import { readBootId } from "#adapters/exec/proc.ts";
import {
  type ExpendableDatabase,
  type Format,
  openExpendable,
  type Row,
  type StoreOptions,
} from "#adapters/sqlite/index.ts";
import type { StoredWindow, WindowStore } from "#domain/ports/access.ts";
import type { Dispose } from "#kernel/clock.ts";
import { orReport, toError } from "#kernel/errors.ts";

const format = {
  file: "limits.db",
  version: 1,
  // Ends are kept by both clocks: within a boot the one that nobody can set decides.
  schema: `
    CREATE TABLE windows (
      subject TEXT NOT NULL, name TEXT NOT NULL, used INTEGER NOT NULL,
      boot_id TEXT NOT NULL, ends_at_uptime_ms INTEGER NOT NULL, ends_at_epoch_ms INTEGER NOT NULL,
      PRIMARY KEY (subject, name)
    ) STRICT, WITHOUT ROWID;
  `,
  check: "SELECT * FROM windows",
  statements: {
    all: "SELECT * FROM windows",
    put: "INSERT OR REPLACE INTO windows VALUES (?, ?, ?, ?, ?, ?)",
    forget: "DELETE FROM windows WHERE subject = ? AND name = ?",
  },
} satisfies Format;

export interface WindowClocks {
  readonly uptimeMs: () => number;
  readonly now: () => number;
  readonly bootId: () => string;
}

const hostClocks: WindowClocks = {
  uptimeMs: () => Number(process.hrtime.bigint() / 1_000_000n),
  now: () => Date.now(),
  bootId: readBootId,
};

/** The store in the state directory, opened with the first request. In a new file, or in memory, windows starts over. */
export function createWindowStore(
  options: StoreOptions & { readonly clocks?: WindowClocks },
): WindowStore & { readonly dispose: Dispose } {
  const { onTrouble, clocks = hostClocks } = options;
  let database: ExpendableDatabase<keyof (typeof format)["statements"]> | undefined;
  const opened = () => {
    database ??= openExpendable(format, options);
    return database;
  };
  const quietly = <T>(work: () => T): T | undefined => orReport(work, (error) => onTrouble(toError(error)));
  const leftOf = (row: Row): number =>
    row["boot_id"] === clocks.bootId()
      ? Number(row["ends_at_uptime_ms"]) - clocks.uptimeMs()
      : Number(row["ends_at_epoch_ms"]) - clocks.now();

  return {
    load: () =>
      quietly(() => {
        const left: StoredWindow[] = [];
        opened().change(({ all, forget }) => {
          for (const row of all.all()) {
            const [subject, name] = [String(row["subject"]), String(row["name"])];
            const endsInMs = leftOf(row);
            if (endsInMs > 0) left.push({ subject, name, used: Number(row["used"]), endsInMs });
            else forget.run(subject, name);
          }
        });
        return left;
      }) ?? [],
    save: (windows) =>
      quietly(() => {
        const [bootId, uptimeMs, nowMs] = [clocks.bootId(), clocks.uptimeMs(), clocks.now()];
        opened().change(({ put }) => {
          for (const { subject, name, used, endsInMs } of windows) {
            const ends = [uptimeMs, nowMs].map((each) => Math.ceil(each + endsInMs)) as [number, number];
            put.run(subject, name, used, bootId, ...ends);
          }
        });
      }),
    dispose: () => database?.dispose(),
  };
}
