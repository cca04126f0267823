import { beforeAll, describe, expect, it } from "vitest";
import type { LogEntry } from "#contract/log-entry.ts";
import { dumpJournal } from "../journals/oracle.ts";
import { eventually } from "./support/eventually.ts";
import { askLogs, holdsNoDeletedFile, journalDirectory, synced } from "./support/journal.ts";
import { faultOfLines, startLineWriters } from "./support/line-writers.ts";
import { type LogStreamClient, openLogStream } from "./support/log-stream.ts";
import { describeOnHost, type Session } from "./support/session.ts";

type Storage = "volatile" | "persistent" | "none";

/** Has anyone who is in the group systemd-journal read what is on the disk, as each boot does. */
async function giveGroup({ host }: Session): Promise<void> {
  await host.exec(["systemd-tmpfiles", "--create", "--prefix", onDisk]);
}

/** Sets where journald keeps its files, and removes those that are elsewhere. */
async function store(session: Session, storage: Storage, removed: readonly string[] = []): Promise<void> {
  const { host } = session;
  await host.writeFile(
    "/etc/systemd/journald.conf.d/storage.conf",
    `[Journal]\nStorage=${storage}\nRateLimitIntervalSec=0\n`,
  );
  await host.exec(["systemctl", "restart", "systemd-journald"]);
  if (removed.length > 0) await host.exec(["rm", "-rf", ...removed]);
}

const onDisk = "/var/log/journal";
const inMemory = "/run/log/journal";

const messagesOf = (entries: readonly LogEntry[]): readonly string[] => entries.map(({ message }) => message);
/** Too long to be shown where they differ. */
const isSameList = (left: readonly string[], right: readonly string[]): boolean => left.join() === right.join();
const log = ({ host }: Session, text: string) => host.exec(["logger", text]);

const isAlive = async (stream: LogStreamClient): Promise<void> => {
  const before = stream.others.length;
  stream.send({ type: "filter", priority: "none such" });
  // A stream that was opened without a journal says that too, before or after.
  const answer = expect.objectContaining({ error: expect.objectContaining({ code: "VALIDATION_ERROR" }) });
  await eventually(() => expect(stream.others.slice(before)).toContainEqual(answer));
};

describeOnHost("logs of a host whose journal moves", (session) => {
  const open = (query?: Readonly<Record<string, string>>) =>
    openLogStream(session.service, session.service.adminKey, query);

  describe("in memory only", () => {
    let stream: LogStreamClient;
    beforeAll(async () => {
      stream = await open();
      await log(session, "on the disk");
      await stream.until("on the disk");
      await store(session, "volatile", [onDisk]);
    });

    it("are what is in memory, and no more what was on the disk", async () => {
      await log(session, "in memory");
      await stream.until("in memory");
      const { logs } = await askLogs(session, { limit: 10_000 });
      expect(messagesOf(logs)).toContain("in memory");
      expect(messagesOf(logs)).not.toContain("on the disk");
      await holdsNoDeletedFile(session);
    });

    it("come once when journald moves them to the disk meanwhile", async () => {
      const [from] = (await askLogs(session, { order: "desc", limit: 1 })).logs;
      // So many that copying them takes a while, in which the same entries are in two files.
      await session.shell("seq 12000 | systemd-cat -t filler");
      const count = 6_000;
      const writer = { unit: "moving.service" };
      const { ended } = await startLineWriters(session, [writer], { count, perSecond: 1_500 });
      await stream.until("moving.service 1000");
      // As at a boot: until it is asked to move, journald continues in memory.
      await session.host.exec(["rm", "-f", "/run/systemd/journal/flushed"]);
      await session.host.exec(["mkdir", onDisk]);
      await giveGroup(session);
      await store(session, "persistent");
      await session.host.exec(["journalctl", "--flush"]);
      const behind = await open({ cursor: from?.cursor ?? "" });
      await ended;
      const last = `moving.service ${count - 1}`;
      await stream.until(last);
      await behind.until(last);
      await synced(session);
      const isFiller = ({ identifier }: LogEntry): boolean => identifier === "filler";
      const fillers = Array.from({ length: 12_000 }, (_, at) => String(at + 1));
      const moved = dumpJournal(["-D", journalDirectory(session)]).map(({ entry }) => entry);
      expect(isSameList(messagesOf(moved.filter(isFiller)), fillers)).toBe(true);
      expect(await session.shell(`find ${inMemory} -name '*.journal' 2>/dev/null || true`)).toBe("");
      const expected = { ...writer, first: 0, count };
      expect(faultOfLines(messagesOf(stream.entries), expected)).toBeUndefined();
      expect(faultOfLines(messagesOf(behind.entries), expected)).toBeUndefined();
      expect(isSameList(messagesOf(behind.entries.filter(isFiller)), fillers)).toBe(true);
      const { logs, total } = await askLogs(session, { units: [writer.unit], limit: 10_000 });
      expect(faultOfLines(messagesOf(logs), expected)).toBeUndefined();
      expect(total).toBe(logs.length);
      await holdsNoDeletedFile(session);
      stream.close();
      behind.close();
    });
  });

  describe("with a journald that is killed, rotates and restarts", () => {
    it("are the same in the stream as in the journal", async () => {
      await session.writeUnits({ "systemd-journald.service.d/test.conf": ["[Unit]", "StartLimitIntervalSec=0"] });
      const stream = await open();
      const count = 4_000;
      const writer = { unit: "killed.service" };
      const { ended } = await startLineWriters(session, [writer], { count, perSecond: 2_000 });
      const kill = ["systemctl", "kill", "--kill-who=main", "--signal=KILL", "systemd-journald"] as const;
      // A journald that was killed just now takes no requests yet.
      const rotate = ["sh", "-c", "until journalctl --rotate --vacuum-size=1G; do sleep 0.1; done"] as const;
      const restart = ["systemctl", "restart", "systemd-journald"] as const;
      for (const [at, argv] of [kill, rotate, kill, restart, kill, rotate].entries()) {
        await stream.until(`killed.service ${500 * (at + 1)}`);
        await session.host.exec(argv);
      }
      await ended;
      await log(session, "all is written");
      await stream.until("all is written");
      await synced(session);
      const written = dumpJournal(["-D", journalDirectory(session)]).map(({ entry }) => entry);
      const isLine = ({ message }: LogEntry): boolean => message.startsWith("killed.service ");
      // What journald had read and not written yet is lost with it: more of it the busier the host is, but nothing that was streamed.
      const killedAt = [500, 1_500, 2_500].map((number) => `killed.service ${number}`);
      expect(written.map(({ message }) => message)).toEqual(expect.arrayContaining(killedAt));
      expect(stream.entries.filter(isLine)).toEqual(written.filter(isLine));
      const { logs } = await askLogs(session, { units: [writer.unit], limit: 10_000 });
      expect(logs.filter(isLine)).toEqual(written.filter(isLine));
      stream.close();
    });
  });

  describe("without a journal", () => {
    let stream: LogStreamClient;
    beforeAll(async () => {
      stream = await open();
      await store(session, "none", [onDisk, inMemory]);
    });

    it("are an empty list that says so, and the stream stays open", async () => {
      await log(session, "to nobody");
      await eventually(async () => {
        const reason = "there are no journal files in /var/log/journal or /run/log/journal";
        const empty = { logs: [], total: 0, next_cursor: null };
        expect(await session.api.listLogs()).toEqual({ ...empty, not_shown: [{ what: "entries", reason }] });
      });
      await isAlive(stream);
      const other = await open();
      await isAlive(other);
      other.close();
      await holdsNoDeletedFile(session);
    });

    it("come as soon as there is a journal, or the remedy where it is not readable", async () => {
      await store(session, "persistent");
      await log(session, "there is one");
      // journald makes the directory without the group that may read it.
      await eventually(() =>
        expect(session.api.listLogs()).rejects.toThrow(/not readable .*systemd-tmpfiles --create --prefix/),
      );
      await eventually(() =>
        expect(stream.others).toMatchObject([{}, { type: "error", error: { code: "UNAVAILABLE" } }]),
      );
      await giveGroup(session);
      await stream.until("there is one");
      const { logs } = await session.api.listLogs();
      expect(messagesOf(logs)).toContain("there is one");
      expect(messagesOf(stream.entries).filter((text) => text === "there is one")).toHaveLength(1);
      expect(messagesOf(stream.entries)).not.toContain("to nobody");
      expect(stream.others).toMatchObject([
        { type: "error", error: { code: "VALIDATION_ERROR" } },
        { type: "error", error: { code: "UNAVAILABLE" } },
      ]);
      stream.close();
    });
  });
});
