import { expect, it } from "vitest";
import { createFakeJournalStorage, fakeJournalSize } from "../../../../test/fakes/journal.ts";
import { journalSizeCheck } from "./journal-size.ts";

const signal = new AbortController().signal;
const run = (gigabytes: number | undefined, settings: { warn?: number; fail?: number } = {}) => {
  const size =
    gigabytes === undefined ? undefined : fakeJournalSize({ diskBytes: gigabytes * 1e9 - 1000, memoryBytes: 1000 });
  return journalSizeCheck({ journal: createFakeJournalStorage(size) }).run({ ignore: [], ...settings }, signal);
};

it("journal_size passes up to 4.3 GB, grades above, and skips without a journal", async () => {
  expect(await run(4.3)).toMatchObject({ status: "pass", details: { total_gb: 4.3, files: 3 } });
  expect(await run(5)).toMatchObject({ status: "warn" });
  expect(await run(10)).toMatchObject({ status: "fail" });
  expect(await run(2, { warn: 1, fail: 3 })).toMatchObject({
    status: "warn",
    details: { warn_gb: 1 },
    thresholds: { total_gb: { warn: 1, fail: 3 } },
  });
  expect(await run(undefined)).toMatchObject({ status: "skip" });
});
