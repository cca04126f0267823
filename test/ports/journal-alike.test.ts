import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createEngine } from "#adapters/journald/engine.ts";
import { fileKinds } from "../journals/corpora.ts";
import { boots, start } from "../journals/entries.ts";
import type { NewEntry } from "../journals/export-format.ts";
import { answerOf, everything } from "../journals/known.ts";
import { smallJournal } from "../journals/small-journal.ts";

interface Made {
  readonly entry: NewEntry;
  readonly shown: Readonly<Record<string, unknown>>;
}

/** Entries of three units. What is written of one without its message fits others, but not those that bring a field of their own. */
function entryAt(at: number): Made {
  const unit = `a-${at % 3}.service`;
  const priority = at % 2 === 0 ? 6 : 3;
  const said = `said ${at} `.padEnd(120, at % 5 === 0 ? '"' : "x");
  const own = 1_000 + at;
  const [hasPid, hasNone, hasTwo, isAbout] = [at % 10 === 0, at % 7 === 0, at % 11 === 0, at % 13 === 0];
  const fields: NewEntry["fields"] = [
    ["_SYSTEMD_UNIT", unit],
    ["PRIORITY", String(priority)],
    ["_HOSTNAME", "here"],
    ["SYSLOG_IDENTIFIER", `a-${at % 3}`],
    ...(isAbout ? ([["_PID", "1"]] as const) : []),
    ...(hasNone ? [] : ([["MESSAGE", said]] as const)),
    ...(hasTwo && !hasNone ? ([["MESSAGE", `and ${said}`]] as const) : []),
    ["_SOURCE_REALTIME_TIMESTAMP", String(at)],
    ...(hasPid && !isAbout ? ([["_PID", String(own)]] as const) : []),
    ...(isAbout ? ([["UNIT", `about-${at}.service`]] as const) : []),
  ];
  return {
    entry: { bootId: boots[0] ?? "", realtime: start + at, monotonic: at + 1, fields },
    shown: {
      unit: isAbout ? `about-${at}.service` : unit,
      priority,
      message: hasNone ? "" : said,
      identifier: `a-${at % 3}`,
      pid: isAbout ? 1 : hasPid ? own : null,
      hostname: "here",
      boot_id: boots[0],
    },
  };
}

it.each(fileKinds)("writes entries that have most fields in common, and those that differ in one: $name", (kind) => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "steward-alike-"));
  const made = Array.from({ length: 300 }, (_, at) => entryAt(at));
  const path = join(folder.path, "system.journal");
  writeFileSync(
    path,
    smallJournal(
      made.map(({ entry }) => entry),
      kind,
      { buckets: 50 },
    ),
  );
  const engine = createEngine({ roots: [{ path: folder.path }] });
  try {
    const ask = () => answerOf(engine, { ...everything, order: "asc", limit: 1000, until: start + 1_000_000 });
    const first = ask();
    expect(first.logs).toMatchObject(made.map(({ shown }) => shown));
    expect(ask()).toEqual(first);
  } finally {
    engine.dispose();
  }
});
