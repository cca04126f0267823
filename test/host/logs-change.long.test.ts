import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { LogEntry } from "#contract/log-entry.ts";
import { dumpJournal } from "../journals/oracle.ts";
import { askLogs, holdsNoDeletedFile, journalFolder, synced } from "./support/journal.ts";
import { faultOfLines, type LineWriter, parseLine, startLineWriters } from "./support/line-writers.ts";
import { type LogStreamClient, openLogStream } from "./support/log-stream.ts";
import { describeOnHost } from "./support/session.ts";

const writers: readonly LineWriter[] = [
  { unit: "lines-a.service" },
  { unit: "lines-b.service" },
  { unit: "lines-c.service", user: "casual" },
];
const count = 6_000;
const perSecond = 400;
const pollLimit = 500;
/** Archived files that are there before the first line. */
const olderFiles = 10;
/**
 * No client may be further behind what is done to the files. More files are archived than deleted one by one, so that the oldest
 * is always older than this.
 */
const mostRoundsBehind = 8;
/** Names of the files that were cut. */
const truncatedFiles = "/root/truncated";

/** When the journal received an entry, in microseconds of this boot. */
const momentOf = (entry: LogEntry | undefined): number =>
  Number.parseInt(/;m=([0-9a-f]+)/.exec(entry?.cursor ?? "")?.[1] ?? "", 16);

const messagesOf = (entries: readonly LogEntry[]): readonly string[] => entries.map(({ message }) => message);

/** Entries stand in the order in which the journal received them: all are of one boot. */
function expectInOrder(entries: readonly LogEntry[]): void {
  const moments = entries.map(momentOf);
  const early = moments.findIndex((moment, at) => moment < (moments[at - 1] ?? 0));
  expect(entries.slice(Math.max(0, early - 1), early + 1)).toEqual([]);
}

function expectEachOnce(entries: readonly LogEntry[], first = 0): void {
  const faults = writers.flatMap(({ unit }) => faultOfLines(messagesOf(entries), { unit, first, count }) ?? []);
  expect(faults).toEqual([]);
  expect(new Set(entries.map(({ cursor }) => cursor)).size).toBe(entries.length);
}

describeOnHost("logs while journald rotates, deletes and cuts their files", (session) => {
  let follower: LogStreamClient;
  const returning: LogEntry[] = [];
  const polled: LogEntry[] = [];
  let answers: number;
  /** How often the client that polls has had everything that there was. */
  let caughtUp: number;
  let before: string;

  const isOver = (entries: readonly LogEntry[]): boolean => {
    const found = new Set(messagesOf(entries));
    return writers.every(({ unit }) => found.has(`${unit} ${count - 1}`));
  };

  /** Follows by streams that break off, each of which goes on where the last one ended. */
  async function followInPieces(entries: LogEntry[], hasEnded: () => boolean): Promise<void> {
    while (!hasEnded()) {
      const cursor = entries.at(-1)?.cursor ?? before;
      const stream = await openLogStream(session.service, session.service.adminKey, { cursor });
      while (stream.entries.length < 20 && !hasEnded()) await sleep(5);
      stream.close();
      await stream.closed;
      expect(stream.others).toEqual([]);
      entries.push(...stream.entries);
    }
    const last = await openLogStream(session.service, session.service.adminKey, {
      cursor: entries.at(-1)?.cursor ?? before,
    });
    for (const { unit } of writers) {
      if (!entries.some(({ message }) => message === `${unit} ${count - 1}`)) await last.until(`${unit} ${count - 1}`);
    }
    last.close();
    entries.push(...last.entries);
  }

  /** Goes on by next_cursor from page to page, at the pace of the writers. */
  async function poll(entries: LogEntry[]): Promise<void> {
    let cursor = before;
    while (!isOver(entries.slice(-5_000))) {
      const { logs, next_cursor: next } = await askLogs(session, { cursor, order: "asc", limit: pollLimit });
      entries.push(...logs);
      if (next === null) throw new Error("going on has no end");
      cursor = next;
      answers += 1;
      if (logs.length < pollLimit) caughtUp += 1;
      if (logs.length === 0) await sleep(2);
    }
  }

  /** What a client that is late has not read yet may be deleted: on a busy machine it must not be that late. */
  async function untilCaughtUp(hasEnded: () => boolean): Promise<void> {
    for (const seen = caughtUp; caughtUp === seen && !hasEnded(); ) await sleep(5);
  }

  /** Asks different queries, and checks each answer by itself. */
  async function ask(hasEnded: () => boolean): Promise<void> {
    const queries = [
      { limit: 300 },
      { units: ["lines-*"], limit: 1_000 },
      { units: ["lines-c"], order: "desc", limit: 200 },
      { grep: "7$", units: ["lines-a"], limit: 100 },
      { priority: 5, order: "desc" },
      { identifier: "python3", limit: 50 },
    ] as const;
    for (let round = 0; !hasEnded(); round += 1) {
      await untilCaughtUp(hasEnded);
      const query = queries[round % queries.length] ?? {};
      const { logs, total } = await askLogs(session, query);
      answers += 1;
      const cursors = new Set(logs.map(({ cursor }) => cursor));
      expect([query, cursors.size]).toEqual([query, logs.length]);
      expect(total).toBeGreaterThanOrEqual(logs.length);
      const oldestFirst = "order" in query ? [...logs].reverse() : logs;
      expectInOrder(oldestFirst);
      // No gap either: within an answer the lines of a unit follow one another.
      if ("grep" in query) continue;
      for (const { unit } of writers) {
        const own = messagesOf(oldestFirst).filter((message) => parseLine(message)?.unit === unit);
        const first = parseLine(own[0] ?? "")?.number ?? 0;
        expect(faultOfLines(own, { unit, first, count: first + own.length })).toBeUndefined();
      }
    }
  }

  /** Waits until every client has what the journal had at a moment: what is deleted before it was read is lost to anybody. */
  async function readUpTo(moment: number): Promise<void> {
    const isBehind = (entries: readonly LogEntry[]) => !(momentOf(entries.at(-1)) >= moment);
    while ([follower.entries, returning, polled].some(isBehind)) await sleep(5);
  }

  async function newestLine(): Promise<number> {
    const { logs } = await askLogs(session, { units: ["lines-*"], order: "desc", limit: 1 });
    return logs.length === 0 ? 0 : momentOf(logs[0]);
  }

  const oldest = "ls -tr /var/log/journal/$(cat /etc/machine-id)/*@*.journal | head -n 1";
  const cutOldest = (part: number): string =>
    `f=$(${oldest}) && truncate -s $(($(stat -c %s "$f") / 100 * ${100 * part})) "$f" && echo "$f" >> ${truncatedFiles}`;

  /** Everything that befalls journal files, again and again. */
  async function disturb(hasEnded: () => boolean): Promise<void> {
    const disturbances = [
      "journalctl --rotate",
      "journalctl --rotate --vacuum-files=40",
      "systemctl restart systemd-journald",
      `f=$(${oldest}) && rm "$f"`,
      "journalctl --rotate --vacuum-size=200M",
      cutOldest(0.5),
      "journalctl --vacuum-files=20",
      "systemctl restart systemd-journald",
      cutOldest(0),
      "journalctl --rotate --vacuum-size=150M",
    ];
    /** When the journal received the last line before each round. */
    const newest: number[] = [];
    // Each of them once at least, however slow the machine is.
    for (let round = 0; !hasEnded() || round < disturbances.length; round += 1) {
      newest.push(await newestLine());
      const moment = newest.at(-mostRoundsBehind);
      if (moment) await readUpTo(moment);
      // Only what is to be deleted or cut may be missing.
      await session.host.exec(["sh", "-c", disturbances[round % disturbances.length] ?? ""], { allowFailure: true });
      await untilCaughtUp(hasEnded);
    }
  }

  beforeAll(async () => {
    await session.host.exec(["useradd", "--create-home", "casual"]);
    // All settings of systemd's own; a file holds little, so that it rotates by itself as well.
    await session.host.writeFile(
      "/etc/systemd/journald.conf.d/test.conf",
      "[Journal]\nSystemMaxFileSize=8M\nSystemMaxUse=1G\nRateLimitIntervalSec=0\n",
    );
    // Otherwise systemd gives up on it after some restarts.
    const unlimited = { "systemd-journald.service.d/test.conf": ["[Unit]", "StartLimitIntervalSec=0"] };
    await session.writeUnits(unlimited);
    await session.host.exec(["systemctl", "restart", "systemd-journald"]);
    for (let files = 0; files < olderFiles; files += 1) await session.shell("logger older; journalctl --rotate");
    await session.shell("logger before");
    await synced(session);
    before = (await askLogs(session, { order: "desc", limit: 1 })).logs[0]?.cursor ?? "";
    follower = await openLogStream(session.service, session.service.adminKey);
    answers = 0;
    caughtUp = 0;
    let hasEnded = false;
    const { ended } = await startLineWriters(session, writers, { count, perSecond });
    const over = ended.finally(() => {
      hasEnded = true;
    });
    await Promise.all([
      over,
      disturb(() => hasEnded),
      ask(() => hasEnded),
      poll(polled),
      followInPieces(returning, () => hasEnded),
    ]);
    for (const { unit } of writers) await follower.until(`${unit} ${count - 1}`);
  });
  afterAll(() => follower?.close());

  it("reach a client of the stream once and in order", () => {
    expectEachOnce(follower.entries);
    expectInOrder(follower.entries);
    expect(follower.others).toEqual([]);
  });

  it("reach a client that reconnects again and again once and in order", () => {
    expectEachOnce(returning);
    expectInOrder(returning);
  });

  it("reach a client that polls once and in order", () => {
    expectEachOnce(polled);
    expectInOrder(polled);
    // Enough to fall between changes, however much else the machine has to do.
    expect(answers).toBeGreaterThan(30);
  });

  /** All entries by pages backwards, oldest first. */
  async function pageThrough(): Promise<readonly LogEntry[]> {
    const found: LogEntry[] = [];
    let cursor: string | undefined;
    do {
      const page = await askLogs(session, { ...(cursor !== undefined && { cursor }), order: "desc", limit: 1_000 });
      found.push(...page.logs);
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    return found.reverse();
  }

  it("are in the end no less than journalctl has, and without the cut files the same", async () => {
    const lines = (entries: readonly LogEntry[]) => entries.filter(({ message }) => parseLine(message) !== undefined);
    const known = (): readonly LogEntry[] => dumpJournal(["-D", journalFolder(session)]).map(({ entry }) => entry);
    await synced(session);
    const cursors = (await pageThrough()).map(({ cursor }) => cursor);
    expect(new Set(cursors).size).toBe(cursors.length);
    expect(lines(known()).filter(({ cursor }) => !cursors.includes(cursor))).toEqual([]);

    await session.shell(`xargs rm -f < ${truncatedFiles}`);
    const found = lines(await pageThrough());
    expect(found.length).toBeGreaterThan(1_000);
    expect(found).toEqual(lines(known()));
  });

  it("leave no deleted file open", async () => {
    await holdsNoDeletedFile(session);
  });

  it("have warnings of the cut files alone", async () => {
    // The others may have been deleted before anybody read them.
    await session.shell(cutOldest(0.5));
    await pageThrough();
    const cut = (await session.host.readFile(truncatedFiles)).trim().split("\n");
    const warnings = (await session.service.logs()).split("\n").filter((line) => line.includes("not wholly readable"));
    expect(warnings.length).toBeGreaterThan(0);
    expect(warnings.filter((line) => !cut.some((path) => line.includes(path)))).toEqual([]);
  });
});
