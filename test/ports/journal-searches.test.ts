import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHostJournal, type HostJournal } from "#adapters/journald/index.ts";
import type { LogQuery } from "#domain/logs/ports.ts";
import { createLiveFolder, entriesOfNow, type LiveFolder } from "../journals/live-folder.ts";
import { canMakeJournals } from "../journals/programs.ts";

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
  limit: 10,
};
/** Takes a time that grows with the power of the length of what it almost matches. */
const catastrophic = "^(a+)+$";
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
    const messages = ["first", `${"a".repeat(60)}!`, "last"];
    folder.append("system.journal", entriesOfNow(messages.map((message) => [["MESSAGE", message]])));
    host = createHostJournal({ dir: folder.path, onUnreadable: () => undefined, limits: { stuckMs: 300 } });
  });
  afterAll(() => {
    host.dispose();
    folder.remove();
  });

  it("are refused when the expression takes too long, and hold up no other query", async () => {
    const order: string[] = [];
    const slow = totalOf({ grep: catastrophic }).finally(() => order.push("slow"));
    const others = Promise.all(Array.from({ length: 20 }, () => totalOf({}))).finally(() => order.push("others"));
    await expect(slow).rejects.toMatchObject({
      name: "LogQueryRefused",
      field: "grep",
      message: expect.stringMatching(/too long/i),
    });
    expect(await others).toEqual(Array.from({ length: 20 }, () => 3));
    expect(order).toEqual(["others", "slow"]);
    expect(await totalOf({ grep: "^(first|last)$" })).toBe(2);
  });

  it("end with the caller", async () => {
    const gone = new AbortController();
    const slow = totalOf({ grep: catastrophic }, gone.signal);
    gone.abort();
    await expect(slow).rejects.toMatchObject({ name: "JournalUnavailable" });
    expect(await totalOf({ grep: "last" })).toBe(1);
  });
});
