import { expect, it } from "vitest";
import { createFakeJournalStorage, fakeJournalSize } from "../../../../test/fakes/journal.ts";
import { vacuumJournalFix } from "./vacuum-journal.ts";

const { signal } = new AbortController();
const gb = 1e9;
const found = (details: Readonly<Record<string, unknown>> = { warn_gb: 5 }) => ({
  status: "warn" as const,
  message: "",
  details,
});
const grown = fakeJournalSize({ diskBytes: 6 * gb, archivedBytes: 5.9 * gb, activeBytes: 0.1 * gb });

it("vacuum_journal rotates, and vacuums to four fifths of the threshold", async () => {
  const journal = createFakeJournalStorage(grown);
  const { steps, freesBytes } = await vacuumJournalFix({ journal }).plan(found(), signal);
  expect(steps.map(({ action }) => action)).toEqual([
    "begin new journal files (journalctl --rotate)",
    "remove the oldest archived journal files until the journal takes at most 3.7 GiB",
  ]);
  expect([freesBytes, journal.actions]).toEqual([2 * gb, []]);

  const messages: string[] = [];
  for (const { run } of steps) messages.push(await run(signal));
  // What the new files take is not for the archived ones.
  expect(journal.actions).toEqual(["rotate", `vacuum ${4 * gb - 8 * 2 ** 20}`]);
  expect(messages[1]).toBe("1.9 GiB freed; the journal takes 3.7 GiB");
});

it("vacuum_journal removes nothing if that would not be enough", async () => {
  const journal = createFakeJournalStorage(grown, { strangeBytes: 5 * gb });
  const { steps } = await vacuumJournalFix({ journal }).plan(found(), signal);
  await steps[0]?.run(signal);
  await expect(steps[1]?.run(signal)).rejects.toThrow(
    "nothing was removed: 4.7 GiB are in files that are in use, of other machines, or not named by journald, which stay; to remove all others would not be enough",
  );
  expect(journal.actions).toEqual(["rotate"]);
});

it.each([
  ["archived files and those in use", { archivedBytes: 1 * gb, activeBytes: 0.5 * gb, diskBytes: 5.2 * gb }, 1.2 * gb],
  [
    "no more than those",
    { archivedBytes: 0.2 * gb, activeBytes: 0.1 * gb, memoryBytes: 3 * gb, diskBytes: 3 * gb },
    0.3 * gb,
  ],
  [
    "nothing where files of other machines are too much",
    { archivedBytes: 1 * gb, activeBytes: 0.5 * gb, diskBytes: 6 * gb },
    0,
  ],
])("vacuum_journal promises to free %s", async (_, given, expected) => {
  const journal = createFakeJournalStorage(fakeJournalSize(given));
  const { freesBytes } = await vacuumJournalFix({ journal }).plan(found(), signal);
  expect(freesBytes).toBeCloseTo(expected);
});

it("vacuum_journal does not rotate without a writing journald, and does nothing without a journal or threshold", async () => {
  const journal = createFakeJournalStorage(grown, { canRotate: false });
  const { steps, freesBytes } = await vacuumJournalFix({ journal }).plan(found(), signal);
  expect([steps.length, freesBytes]).toEqual([1, 2 * gb]);
  const none = createFakeJournalStorage({ ...grown, archivedBytes: 0 }, { canRotate: false });
  expect(await vacuumJournalFix({ journal: none }).plan(found(), signal)).toEqual({
    steps: [],
    reason: "/var/log/journal holds no archived files, and journald does not write there",
  });
  const fix = vacuumJournalFix({ journal: createFakeJournalStorage(undefined) });
  expect(await fix.plan(found(), signal)).toMatchObject({ steps: [] });
  for (const details of [{}, { warn_gb: "5" }, { warn_gb: 0 }])
    expect(
      await vacuumJournalFix({ journal: createFakeJournalStorage(grown) }).plan(found(details), signal),
    ).toMatchObject({ steps: [] });
});

it("vacuum_journal passes on errors of journalctl, and a journal that is gone", async () => {
  const journal = createFakeJournalStorage(grown);
  const { steps } = await vacuumJournalFix({ journal }).plan(found(), signal);
  journal.refusal = "journalctl says: Read-only file system";
  for (const { run } of steps) await expect(run(signal)).rejects.toThrow("journalctl says: Read-only file system");
  journal.now = undefined;
  await expect(steps[1]?.run(signal)).rejects.toThrow("this host keeps no journal any more");
});
