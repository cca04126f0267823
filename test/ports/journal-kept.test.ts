import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Budget } from "#adapters/journald/budget.ts";
import { createBlockPool } from "#adapters/journald/journal-file/blocks.ts";
import { openSource } from "#adapters/journald/source.ts";
import { fileKinds } from "../journals/corpora.ts";
import { boots, start } from "../journals/entries.ts";
import { smallJournal } from "../journals/small-journal.ts";

const entries = Array.from({ length: 60 }, (_, at) => ({
  bootId: boots[0] ?? "",
  realtime: start + at,
  monotonic: at + 1,
  fields: [
    ["MESSAGE", `said ${at}`],
    ["SYSLOG_IDENTIFIER", `once-${at}`],
    ["_SYSTEMD_UNIT", `a-${at % 3}.service`],
  ] as const,
}));

it.each(fileKinds)("keeps no value that stands once, and counts those that it keeps: $name", (kind) => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "steward-kept-"));
  const path = join(folder.path, "system.journal");
  writeFileSync(path, smallJournal(entries, kind, { buckets: 50 }));
  let taken = 0;
  let forgetAll = (): void => undefined;
  const budget: Budget = {
    room: () => Infinity,
    count: () => undefined,
    share(forget) {
      const before = forgetAll;
      forgetAll = () => {
        before();
        forget();
      };
      return {
        take() {
          taken += 1;
        },
        end: forget,
      };
    },
  };
  const source = openSource(path, createBlockPool(64), budget, (_, what) => {
    throw new Error(what);
  });
  const read = (name: string): readonly string[] =>
    [...source.valuesOf(name)].map((offset) => source.fields.read(offset)?.text ?? "").toSorted();
  try {
    const names = ["SYSLOG_IDENTIFIER", "MESSAGE", "_SYSTEMD_UNIT", "_BOOT_ID"];
    const values = names.map(read);
    expect(values[0]).toHaveLength(60);
    // Three units; the id of the boot is asked for by nobody.
    expect(taken).toBe(4);
    expect(names.map(read)).toEqual(values);
    expect(taken).toBe(4);
    forgetAll();
    expect(names.map(read)).toEqual(values);
    expect(taken).toBe(8);
  } finally {
    source.close();
  }
});
