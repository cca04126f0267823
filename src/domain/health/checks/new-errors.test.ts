import { expect, it } from "vitest";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import {
  createFakeJournal,
  createFakeJournalStorage,
  type FakeEntry,
  unreadFile,
} from "../../../../test/fakes/journal.ts";
import type { CheckSettings } from "../check.ts";
import { newErrorsCheck } from "./new-errors.ts";

const signal = new AbortController().signal;
const clock = createFakeClock(Date.parse("2026-01-31T12:00:00Z"));
const hoursAgo = (hours: number): number => (clock.now() - hours * 3_600_000) * 1000;
const known: FakeEntry = { message: "started", time: hoursAgo(30 * 24) };
const error = (message: string, hours: number, unit = "web.service"): FakeEntry => ({
  message,
  unit,
  priority: 3,
  time: hoursAgo(hours),
});
const run = (entries: readonly FakeEntry[], settings: Partial<CheckSettings> = {}) =>
  newErrorsCheck({ journal: createFakeJournal(entries), clock }).run({ ignore: [], ...settings }, signal);

it("new_errors names errors that were logged for the first time in 24 hours", async () => {
  const old = [error("disk 1 is slow", 400), error("disk 2 is slow", 2)];
  const outcome = await run([known, ...old, error("cannot open table 3", 5), error("out of luck", 1, "b.service")]);
  expect(outcome).toMatchObject({
    status: "warn",
    message:
      "2 kinds of errors logged for the first time in 24 h: b.service: out of luck, web.service: cannot open table <*>",
    details: {
      count: 2,
      known_since: "2026-01-01T12:00:00.000Z",
      errors: [
        { unit: "b.service", text: "out of luck", first_at: "2026-01-31T11:00:00.000Z" },
        { template: expect.stringMatching(/^[0-9a-f]{16}$/), text: "cannot open table <*>" },
      ],
    },
    thresholds: { count: { warn: 1 } },
  });
  expect(await run([known, ...old])).toMatchObject({ status: "pass", details: { count: 0 } });
  expect(await run([known, error("long ago", 25)])).toMatchObject({ status: "pass" });
  expect(await run([known, { ...error("only a warning", 1), priority: 4 }])).toMatchObject({ status: "pass" });
});

it("new_errors leaves out ignored units and templates, and takes thresholds", async () => {
  const entries = [known, error("cannot open table 3", 5), error("cannot close table 3", 4)];
  expect(await run(entries, { ignore: ["web.*"] })).toMatchObject({ status: "pass" });
  const { details } = await run(entries);
  const [{ template = "" } = {}] = details["errors"] as readonly { readonly template?: string }[];
  expect(await run(entries, { ignore: [template] })).toMatchObject({ details: { count: 1 } });
  expect(await run(entries, { warn: 3 })).toMatchObject({ status: "pass", details: { count: 2 } });
  expect(await run(entries, { fail: 2 })).toMatchObject({
    status: "fail",
    thresholds: { count: { warn: 1, fail: 2 } },
  });
});

it("new_errors is skipped while it is learned what is usual, and what was learned then is not new", async () => {
  const young = [{ ...known, time: hoursAgo(6 * 24) }, error("cannot open table 3", 5)];
  expect(await run(young)).toMatchObject({
    status: "skip",
    message: "Until 2026-02-01T12:00:00.000Z it is learned which errors are usual",
  });
  const learningMs = 3_600_000;
  expect(await run(young, { learningMs })).toMatchObject({ status: "warn" });
  const learned = [{ ...known, time: hoursAgo(5) }, error("cannot open table 3", 4.5), error("out of luck", 1)];
  expect(await run(learned, { learningMs })).toMatchObject({ details: { count: 1 } });
});

it("new_errors is skipped without a journal, and before it was read once", async () => {
  const journal = createFakeJournal([], createFakeJournalStorage(undefined));
  expect(await newErrorsCheck({ journal, clock }).run({ ignore: [] }, signal)).toMatchObject({ status: "skip" });
  expect(await run([])).toMatchObject({
    status: "skip",
    message: "The journal has not been read to its start yet",
  });
});

it("new_errors names journal files that could not be read, also while it is skipped", async () => {
  for (const [entries, status] of [[[known], "pass"] as const, [[], "skip"] as const]) {
    const journal = createFakeJournal(entries);
    journal.unread = [unreadFile];
    expect(await newErrorsCheck({ journal, clock }).run({ ignore: [] }, signal)).toMatchObject({
      status,
      message: expect.stringContaining(`; not read: ${unreadFile.path} (it is damaged: at byte 8)`),
      details: { unread: [{ file: unreadFile.path, reason: unreadFile.reason }] },
    });
  }
});
