import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHostJournal, type HostJournal } from "#adapters/journald/index.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { createLiveFolder, entriesOfNow, type LiveFolder } from "../journals/live-folder.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { unpredictableText } from "../journals/unpredictable-text.ts";

const everything: LogQuery = {
  units: undefined,
  since: 0,
  until: Number.MAX_SAFE_INTEGER,
  priority: undefined,
  identifier: undefined,
  boot: undefined,
  grep: undefined,
  cursor: undefined,
  order: "asc",
  limit: 1,
};
/** Has to be followed a thousand ways at once through a text where no place is like another. */
const slow = "[ab]*a[ab]{1000}c";
const slowText = unpredictableText(4_000_000);
const never = new AbortController().signal;

describe.skipIf(!canMakeJournals())("searches of the journal", () => {
  let folder: LiveFolder;
  let host: HostJournal;
  const totalOf = async (query: Partial<LogQuery>, signal = never): Promise<number> => {
    const { bytes } = await host.journal.query({ ...everything, ...query }, signal);
    return (JSON.parse(Buffer.from(bytes).toString()) as { total: number }).total;
  };

  beforeAll(() => {
    folder = createLiveFolder();
    const messages = [slowText, "first", `${"a".repeat(60)}!`, "last"];
    folder.append("system.journal", entriesOfNow(messages.map((message) => [["MESSAGE", message]])));
    host = createHostJournal({ dir: folder.path, onUnreadable: () => undefined, limits: { jobMs: 5_000 } });
  });
  afterAll(() => {
    host.dispose();
    folder.remove();
  });

  it("are refused when they take too long, and hold up no other query", async () => {
    const order: string[] = [];
    const search = totalOf({ grep: slow }).finally(() => order.push("slow"));
    const others = Promise.all(Array.from({ length: 20 }, () => totalOf({}))).finally(() => order.push("others"));
    await expect(search).rejects.toMatchObject({
      name: "LogQueryRefused",
      field: "grep",
      message: expect.stringMatching(/too long/i),
    });
    expect(await others).toEqual(Array.from({ length: 20 }, () => 4));
    expect(order).toEqual(["others", "slow"]);
    expect(await totalOf({ grep: "^(first|last)$" })).toBe(2);
  });

  it("answer what takes other engines exponential time", async () => {
    expect(await totalOf({ grep: "^(a|aa)+$" })).toBe(0);
    expect(await totalOf({ grep: "^(a|aa)+!$" })).toBe(1);
  });

  it("end with the caller", async () => {
    const gone = new AbortController();
    const search = totalOf({ grep: slow }, gone.signal);
    gone.abort();
    await expect(search).rejects.toMatchObject({ name: "JournalUnavailable" });
    expect(await totalOf({ grep: "last" })).toBe(1);
  });
});
