import fc from "fast-check";
import type { LogQuery } from "#domain/ports/journal.ts";
import { always, type KnownEntry } from "./oracle.ts";

const distinct = (entries: readonly KnownEntry[], field: string): readonly string[] => [
  ...new Set(entries.flatMap(({ fields }) => fields.get(field) ?? [])),
];

const globs = [
  "*",
  "a*",
  "*.service",
  "app-?.service",
  "app-[0-9].service",
  "[!a]*.service",
  "*@*",
  "?.service",
  "nope*",
  "*.slice",
  "web.sl?ce",
];
const absent = ["absent.service", "a.servic", "A.service", "a.service.d", "nothing.slice"];

/** Expressions that mean the same to PCRE and to JavaScript. */
const expressions = [
  "request",
  "REQUEST",
  "Request",
  "started",
  "Started",
  "took [0-9]+ ms",
  "took 1",
  "^plain",
  "two.lines",
  "two\\nlines",
  "forged|dumped",
  "cdef0123",
  "no (id|such)",
  "\\bid\\b",
  'priority "',
  "nothing like this",
];

/** Queries that are likely to find something in these entries, and likely to just miss. */
export function queriesOn(entries: readonly KnownEntry[], goneCursors: readonly string[]): fc.Arbitrary<LogQuery> {
  const unitFields = ["_SYSTEMD_UNIT", "UNIT", "COREDUMP_UNIT", "OBJECT_SYSTEMD_UNIT", "_SYSTEMD_SLICE", "USER_UNIT"];
  const units = [...new Set(unitFields.flatMap((field) => distinct(entries, field)))].filter((unit) => unit !== "");
  // An argument of a process has no NUL in it and is valid UTF-8.
  const identifiers = distinct(entries, "SYSLOG_IDENTIFIER").filter((each) => !/[\0\ufffd]/.test(each) && each !== "");
  const boots = distinct(entries, "_BOOT_ID");
  const offsets = boots.flatMap((_, position) => [String(-position), String(position + 1)]);
  const cursors = [...entries.map(({ entry }) => entry.cursor), ...goneCursors];
  const timestamps = entries.flatMap(({ realtime }) => [realtime - 1, realtime, realtime + 1]);

  const oneOf = (...lists: readonly (readonly string[])[]): fc.Arbitrary<string> =>
    fc.oneof(...lists.filter((list) => list.length > 0).map((list) => fc.constantFrom(...list)));
  const oneIn = <T>(times: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.oneof({ weight: times - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
  const timestamp = fc.constantFrom(...(timestamps.length === 0 ? [always.since] : timestamps));

  return fc
    .record({
      units: oneIn(2, fc.array(oneOf(units, units, globs, absent, ["kernel"]), { minLength: 1, maxLength: 3 })),
      window: fc.oneof(
        fc.constant(always),
        timestamp.map((since) => ({ ...always, since })),
        timestamp.map((until) => ({ ...always, until })),
        fc.tuple(timestamp, timestamp).map(([a, b]) => ({ since: Math.min(a, b), until: Math.max(a, b) })),
      ),
      priority: oneIn(3, fc.integer({ min: 0, max: 7 })),
      identifier: oneIn(5, oneOf(identifiers, ["absent"])),
      uid: oneIn(8, fc.constantFrom(0, 5, 33, 1000, 65_534)),
      boot: oneIn(4, oneOf(boots, boots, offsets, [`${"0".repeat(31)}1`])),
      grep: oneIn(5, fc.constantFrom(...expressions)),
      cursor: cursors.length === 0 ? fc.constant(undefined) : oneIn(3, fc.constantFrom(...cursors)),
      order: fc.constantFrom("asc" as const, "desc" as const),
      limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(1, 2, 100, 1000, 10_000)),
    })
    .map(({ window, ...rest }) => ({ ...rest, ...window }));
}
