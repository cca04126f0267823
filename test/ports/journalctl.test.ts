import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { ExecLines } from "#adapters/exec/index.ts";
import { execLines } from "#adapters/exec/index.ts";
import { createJournalctl, type Journalctl } from "#adapters/journald/journalctl.ts";
import { JournalUnavailable, type LiveEntry, LogQueryRefused } from "#domain/ports/journal.ts";
import { fileKinds } from "../journals/corpora.ts";
import { boots, everyday, machines, start } from "../journals/entries.ts";
import { encodeEntry } from "../journals/export-format.ts";
import { everything } from "../journals/known.ts";
import { dumpJournal } from "../journals/oracle.ts";
import { appendToJournal, canMakeJournals } from "../journals/programs.ts";
import { decoded, never, openJournal } from "../journals/reader.ts";
import { createRandom } from "../support/random.ts";

const [kind] = fileKinds;
const readerOf = (directory: string) => createJournalctl({ execLines, directories: [directory], restartDelayMs: 50 });

describe.runIf(canMakeJournals())("journalctl as a reader of the journal", () => {
  const folders: string[] = [];
  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), "steward-journalctl-"));
    folders.push(folder);
    return folder;
  };
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  let next = 0;
  /** Appends entries and gives their messages. */
  function append(folder: string, count: number, file = "system.journal", bootId = boots[0] ?? ""): readonly string[] {
    const random = createRandom(1);
    const first = next;
    next += count;
    const clock = { bootId, realtime: start + first * 1_000_000, monotonic: first * 1_000_000 + 1 };
    const entries = everyday(random, clock, count).map((each, index) => ({
      ...each,
      realtime: clock.realtime + index,
      monotonic: clock.monotonic + index,
      fields: [["MESSAGE", `message ${first + index}`] as const],
    }));
    mkdirSync(join(folder, file, ".."), { recursive: true });
    appendToJournal(join(folder, file), kind, entries.map(encodeEntry));
    return entries.map((_, index) => `message ${first + index}`);
  }

  const messagesOf = (batch: readonly LiveEntry[]) => batch.map(({ entry }) => entry.message);

  /** Follows, collecting messages, until told to stop. */
  function collect(reader: Journalctl, cursor?: string) {
    const abort = new AbortController();
    const messages: string[] = [];
    const ended = (async () => {
      for await (const batch of reader.follow({ cursor }, abort.signal)) messages.push(...messagesOf(batch));
    })();
    return { messages, ended, stop: () => abort.abort() };
  }

  /** Tells when journalctl was started to follow; and ends it, as if it had crashed. */
  function watched() {
    const follows: AbortController[] = [];
    const exec: ExecLines = (argv, options = {}) => {
      if (!argv.includes("--follow")) return execLines(argv, options);
      const crash = new AbortController();
      follows.push(crash);
      const signal = options.signal === undefined ? crash.signal : AbortSignal.any([options.signal, crash.signal]);
      return execLines(argv, { ...options, signal });
    };
    return { exec, follows };
  }

  it("takes an absent directory and an empty one for an empty journal", async () => {
    const empty = { logs: [], total: 0, next_cursor: null };
    expect(decoded(await readerOf("/nonexistent/journal").query(everything, never))).toEqual(empty);
    const query = { ...everything, units: ["a*"], boot: "0" };
    expect(decoded(await readerOf(newFolder()).query(query, never))).toEqual(empty);
  });

  it.each([
    { by: "the service itself", readable: undefined },
    { by: "journalctl", readable: 0 },
  ])("the namespaces of a directory are told apart where $by reads their files", async ({ readable }) => {
    const folder = newFolder();
    const [machine = ""] = machines;
    const [firstBoot = "", secondBoot = ""] = boots;
    const loose = append(folder, 2);
    const own = append(folder, 2, `${machine}/system.journal`);
    const tenant = append(folder, 3, `${machine}.tenant/system.journal`, secondBoot);
    const other = append(folder, 1, `${machine}.other/system.journal`, secondBoot);
    append(folder, 1, `${machine}.no name/system.journal`);
    const reader = openJournal(folder, readable);
    try {
      const messages = async (namespace: string | undefined) =>
        (await reader.ask({ ...everything, namespace })).logs.map((entry) => entry.message);
      expect(await messages(undefined)).toEqual([...loose, ...own]);
      expect(await messages("tenant")).toEqual(tenant);
      expect(await messages("+other")).toEqual([...loose, ...own, ...other]);
      expect(await messages("*")).toEqual([...loose, ...own, ...tenant, ...other]);
      expect(await messages("unknown")).toEqual([]);
      const bootsOf = async (namespace: string | undefined) =>
        (await reader.journal.boots({ units: undefined, namespace }, never)).boots.map(({ id }) => id);
      expect(await bootsOf(undefined)).toEqual([firstBoot]);
      expect(await bootsOf("tenant")).toEqual([secondBoot]);
      expect(await bootsOf("*")).toEqual([firstBoot, secondBoot]);
      expect((await reader.ask({ ...everything, namespace: "*", boot: "-1" })).total).toBe(4);
    } finally {
      reader.dispose();
    }
  });

  it("refuses a malformed cursor and a malformed expression", async () => {
    const reader = readerOf(newFolder());
    await expect(reader.query({ ...everything, cursor: "x" }, never)).rejects.toMatchObject({ field: "cursor" });
    await expect(reader.query({ ...everything, grep: "(" }, never)).rejects.toMatchObject({ field: "grep" });
    await expect(reader.follow({ cursor: "x" }, never).next()).rejects.toThrow(LogQueryRefused);
  });

  it("fails with what is missing or what journalctl reports", async () => {
    const missing = createJournalctl({ execLines: () => execLines(["/nonexistent/journalctl"]), restartDelayMs: 1 });
    const failing = createJournalctl({
      execLines: () => execLines([process.execPath, "-e", "console.error('out of order'); process.exit(4)"]),
      restartDelayMs: 1,
    });
    await expect(missing.query(everything, never)).rejects.toThrow(/journalctl is not there \(install/);
    await expect(missing.follow({ cursor: undefined }, never).next()).rejects.toThrow(JournalUnavailable);
    await expect(failing.query(everything, never)).rejects.toThrow(JournalUnavailable);
    await expect(failing.query(everything, never)).rejects.toThrow(/out of order/);
    await expect(failing.follow({ cursor: undefined }, never).next()).rejects.toThrow(/out of order/);
  });

  it("ends a query with its signal, or when its time is over", async () => {
    const abort = new AbortController();
    const stuck = createJournalctl({ execLines: (_, options) => execLines(["sleep", "1000"], options) });
    const answer = stuck.query(everything, abort.signal);
    abort.abort(new Error("client has gone"));
    await expect(answer).rejects.toThrow("client has gone");
    const slow = createJournalctl({
      execLines: (_, options) => execLines(["sleep", "1000"], options),
      queryTimeoutMs: 100,
    });
    await expect(slow.query(everything, never)).rejects.toThrow(JournalUnavailable);
  });

  it("follows across boots, new files and a journalctl that ends", async () => {
    const folder = newFolder();
    append(folder, 5);
    const { exec, follows } = watched();
    const reader = createJournalctl({ execLines: exec, directories: [folder], restartDelayMs: 50 });
    const { messages, ended, stop } = collect(reader);
    await expect.poll(() => follows.length).toBe(1);
    const expected = [...append(folder, 3)];
    await expect.poll(() => messages).toEqual(expected);
    expected.push(...append(folder, 2, "other.journal", boots[1]));
    await expect.poll(() => messages).toEqual(expected);
    follows[0]?.abort();
    expected.push(...append(folder, 4, "other.journal", boots[1]));
    await expect.poll(() => messages).toEqual(expected);
    expect(follows.length).toBeGreaterThan(1);
    stop();
    await ended;
    expect(messages).toEqual(expected);
  });

  it("loses and repeats nothing when journalctl ends before it gave anything", async () => {
    const folder = newFolder();
    append(folder, 5);
    let count = 0;
    const exec: ExecLines = (argv, options) => {
      if (argv.includes("--follow") && count++ < 3) return execLines(["true"], options);
      return execLines(argv, options);
    };
    const reader = createJournalctl({ execLines: exec, directories: [folder], restartDelayMs: 50 });
    const { messages, ended, stop } = collect(reader);
    await expect.poll(() => count).toBeGreaterThan(0);
    const expected = append(folder, 3);
    await expect.poll(() => messages).toEqual(expected);
    stop();
    await ended;
  });

  it("follows a journal that appears later, and from a cursor", async () => {
    const parent = newFolder();
    const folder = join(parent, "journal");
    const { messages, ended, stop } = collect(readerOf(folder));
    const later = append(folder, 5, `${machines[0]}/system.journal`);
    await expect.poll(() => messages).toEqual(later);
    stop();
    await ended;
    const cursor = dumpJournal(["-D", folder])[1]?.entry.cursor ?? "";
    const resumed = collect(readerOf(folder), cursor);
    await expect.poll(() => resumed.messages).toEqual(later.slice(2));
    resumed.stop();
    await resumed.ended;
  });
});
