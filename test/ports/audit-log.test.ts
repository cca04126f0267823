import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openAuditLog, verifyAudit } from "#adapters/audit/index.ts";
import { verifyHostAudit } from "#app/audit.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import { type AuditEntry, type AuditLog, type AuditQuery, AuditQueryRefused } from "#domain/ports/audit.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { until } from "../process/support/until.ts";
import { directoryPerTest } from "./support/directories.ts";

const at = directoryPerTest();
let opened = 0;

const startMs = Date.parse("2026-01-01T00:00:00Z");
const entry = (operation: string, minute = 0, rest: Partial<AuditEntry> = {}): AuditEntry => ({
  ...auditEvent(operation, startMs + minute * 60_000),
  target: { name: 'odd\n"name"\u007f\ud800' },
  ...rest,
});

const newStateDir = (): string => {
  opened += 1;
  const stateDir = at(String(opened));
  mkdirSync(stateDir);
  return stateDir;
};
function openReal(stateDir = newStateDir(), maxBytes = 16 * 1024 * 1024) {
  const troubles: unknown[] = [];
  const repaired: (readonly string[])[] = [];
  const clock = createFakeClock();
  const log = openAuditLog({
    stateDir,
    clock,
    limits: { maxBytes, keepFiles: 3 },
    onTrouble: (error) => void troubles.push(error),
    onRepaired: (faults) => void repaired.push(faults),
    onRotated: () => undefined,
  });
  const files = () => readdirSync(log.directory).sort();
  return { log, clock, stateDir, troubles, repaired, files, path: join(log.directory, "audit-000000000001.log") };
}

const signal = new AbortController().signal;
const everything: AuditQuery = {
  ...{
    since: undefined,
    until: undefined,
    operation: undefined,
    keyId: undefined,
    target: undefined,
    outcome: undefined,
  },
  ...{ limit: 100, cursor: undefined },
};

describe.each([
  ["one file", () => openReal().log],
  ["many small files", () => openReal(undefined, 1500).log],
] as const)("the audit log of %s", (_, open: () => AuditLog) => {
  const filled = (): AuditLog => {
    const log = open();
    log.record(entry("one", 1, { key_id: "alice" }));
    log.record(entry("two", 2, { key_id: "bob", outcome: "refused" }));
    log.record(entry("one", 3, { key_id: "bob", outcome: "failed" }));
    log.record(entry("three", 4));
    return log;
  };
  const found = async (log: AuditLog, query: Partial<AuditQuery>): Promise<readonly (readonly [number, string])[]> => {
    const page = await log.list({ ...everything, ...query }, signal);
    expect(page.unreadable).toBe(0);
    return page.entries.map(({ seq, operation }) => [seq, operation] as const);
  };
  const all = [
    [4, "three"],
    [3, "one"],
    [2, "two"],
    [1, "one"],
  ];

  it("has every entry, the newest first, numbered from one", async () => {
    expect(await found(open(), {})).toEqual([]);
    const log = filled();
    expect(await found(log, {})).toEqual(all);
    const { entries, nextCursor } = await log.list(everything, signal);
    expect(entries.at(-1)).toMatchObject({ operation: "one", key_id: "alice", prev: "0".repeat(64), dry_run: false });
    expect(nextCursor).toBeUndefined();
  });

  it("is filtered by time, operation, key and outcome", async () => {
    const log = filled();
    expect(await found(log, { operation: "one" })).toEqual([all[1], all[3]]);
    expect(await found(log, { keyId: "bob" })).toEqual([all[1], all[2]]);
    expect(await found(log, { outcome: "refused" })).toEqual([all[2]]);
    expect(await found(log, { since: startMs + 120_000, until: startMs + 240_000 })).toEqual([all[1], all[2]]);
    expect(await found(log, { operation: "one", keyId: "alice", outcome: "failed" })).toEqual([]);
  });

  it("is filtered by what an entry is about, whole values, with or without the suffix of a service", async () => {
    const log = open();
    const about = [{ name: "nginx" }, { name: "nginx.service" }, { name: "nginx.socket" }, { id: 'größe "x"' }, {}];
    for (const [at, target] of about.entries()) log.record(entry("one", at, { target }));
    const seqs = async (target: string) => (await found(log, { target })).map(([seq]) => seq);
    expect(await seqs("nginx.service")).toEqual([2, 1]);
    expect(await seqs("nginx")).toEqual([1]);
    expect(await seqs("nginx.socket")).toEqual([3]);
    expect(await seqs("ngin")).toEqual([]);
    expect(await seqs("name")).toEqual([]);
    expect(await seqs('größe "x"')).toEqual([4]);
  });

  it("is read on from a cursor, also when there are new entries by then", async () => {
    const log = filled();
    const seen: (readonly [number, string])[] = [];
    let cursor: string | undefined;
    do {
      const page = await log.list({ ...everything, limit: 1, cursor }, signal);
      seen.push(...page.entries.map(({ seq, operation }) => [seq, operation] as const));
      cursor = page.nextCursor;
      log.record(entry("later", 5));
    } while (cursor !== undefined);
    expect(seen).toEqual(all);
  });

  it("refuses a cursor that leads nowhere", async () => {
    await expect(filled().list({ ...everything, cursor: "1-99999" }, signal)).rejects.toThrow(AuditQueryRefused);
  });
});

describe("verification of the audit log by the running service", () => {
  const recorded = () => {
    const real = openReal();
    for (const name of ["one", "two", "three"]) real.log.record(entry(name));
    return real;
  };
  const verified = async ({ log, clock }: Pick<ReturnType<typeof openReal>, "log" | "clock">) => {
    const found = log.verify(signal);
    let isOver = false;
    void found.then(() => {
      isOver = true;
    });
    await until("verdict", async () => {
      await clock.advance(1000);
      return isOver || undefined;
    });
    return found;
  };

  it("finds nothing in what it has written, nor before the first entry", async () => {
    expect(await verified(openReal())).toBeUndefined();
    expect(await verified(recorded())).toBeUndefined();
  });

  it("finds an entry that was changed [changed-audit-log]", async () => {
    const { path, ...real } = recorded();
    writeFileSync(path, readFileSync(path, "utf8").replace('"operation":"two"', '"operation":"TWO"'));
    expect(await verified(real)).toMatchObject({
      file: path,
      line: 2,
      seq: 2,
      what: expect.stringMatching(/was changed/),
    });
  });

  it("finds that its newest entries are gone", async () => {
    const { path, ...real } = recorded();
    writeFileSync(path, `${readFileSync(path, "utf8").split("\n").slice(0, 2).join("\n")}\n`);
    expect(await verified(real)).toMatchObject({
      seq: 3,
      what: expect.stringMatching(/the running service knows entry 3/),
    });
  });

  it("finds nothing where entries are written and files begin and go meanwhile", async () => {
    const { log, clock, files } = openReal(undefined, 2_000);
    const write = (count: number): void => {
      for (let at = 0; at < count; at += 1) log.record(entry(`operation-${at}`));
    };
    write(40);
    const before = files();
    const found = log.verify(signal).then(
      (broken) => ({ broken }),
      // An old file was removed before it was read: the service verifies again.
      ({ code }: NodeJS.ErrnoException) => ({ code }),
    );
    let answer: object | undefined;
    void found.then((each) => {
      answer = each;
    });
    await until("verdict", async () => {
      write(5);
      await clock.advance(1000);
      return answer;
    });
    expect(files()).not.toEqual(before);
    expect([{ broken: undefined }, { code: "ENOENT" }]).toContainEqual(answer);
    expect(await verified({ log, clock })).toBeUndefined();
  });

  it("ends with its signal", async () => {
    const { log, clock } = recorded();
    const stop = new AbortController();
    const found = log.verify(stop.signal);
    const ended = expect(found).rejects.toThrow("over");
    stop.abort(new Error("over"));
    await clock.advance(1000);
    await ended;
  });
});

describe("notes of the calls that are at work", () => {
  const directoryOf = (stateDir: string): string => join(stateDir, "audit-begun");
  const noted = (log: Pick<AuditLog, "left">) => log.left.map((call) => call.entry);

  it("are there for the next process, the oldest first, until it forgets them", () => {
    const { log, stateDir } = openReal();
    const [late, early, done] = [entry("late", 2), entry("early", 1), entry("done")];
    log.begin(late);
    log.begin(early);
    log.begin(done)();
    expect(
      readdirSync(directoryOf(stateDir)).map((name) => statSync(join(directoryOf(stateDir), name)).mode & 0o777),
    ).toEqual([0o600, 0o600]);
    expect(statSync(directoryOf(stateDir)).mode & 0o777).toBe(0o700);
    const next = openReal(stateDir).log;
    expect(noted(next).map(({ operation, time }) => [operation, time])).toEqual([
      ["early", early.time],
      ["late", late.time],
    ]);
    next.begin(entry("other"))();
    next.left[0]?.forget();
    expect(noted(openReal(stateDir).log).map(({ operation }) => operation)).toEqual(["late"]);
  });

  it("are noted until their entry is written", () => {
    const { log, stateDir } = openReal();
    const written = entry("written");
    log.record(written, log.begin(written));
    const late = entry("late");
    const forget = log.begin(late);
    // The service ends, and the log is closed before the last of its calls is answered.
    log.dispose();
    log.record(late, forget);
    expect(noted(openReal(stateDir).log).map(({ operation }) => operation)).toEqual(["late"]);
  });

  it("are left out where they are corrupt, and nothing else is taken for one", () => {
    const { log, stateDir } = openReal();
    log.begin(entry("one"));
    const directory = directoryOf(stateDir);
    const [name = ""] = readdirSync(directory);
    const whole = readFileSync(join(directory, name), "utf8");
    writeFileSync(join(directory, "cut-off"), whole.slice(0, -1));
    writeFileSync(join(directory, "flood"), " ".repeat(100_000) + whole);
    writeFileSync(join(directory, "other"), whole.replace('"outcome"', '"result"'));
    symlinkSync(join(directory, name), join(directory, "link"));
    mkdirSync(join(directory, "folder"));
    expect(noted(openReal(stateDir).log)).toHaveLength(1);
    expect(readdirSync(directory).sort()).toEqual([name, "folder", "link"].sort());
  });

  it("that cannot be written are reported, and hold nothing up", () => {
    const { log, stateDir, troubles } = openReal();
    const forget = log.begin(entry("one"));
    rmSync(directoryOf(stateDir), { recursive: true });
    log.begin(entry("two"))();
    forget();
    expect(troubles).toMatchObject([{ code: "ENOENT" }]);
  });
});

describe("an audit entry that verification would not accept", () => {
  const values: readonly unknown[] = [
    ...[undefined, 1n, Number.NaN, -1, { a: 1 }, [], "", true, null],
    ...[Symbol("x"), () => "x"],
  ];
  const members = Object.keys(entry("any")) as readonly (keyof AuditEntry)[];

  it.each(members)("is completed before it is written, and says so: %s", async (member) => {
    const { log, stateDir, troubles, repaired } = openReal();
    for (const value of values) {
      const odd = { ...entry("odd", 0, { key_id: "alice" }), [member]: value };
      log.begin(odd);
      log.record(odd);
    }
    log.record(entry("last"));
    expect(troubles).toEqual([]);
    expect(await verifyAudit(log.directory, [])).toMatchObject({
      broken: undefined,
      malformed: 0,
      notes: [],
      entries: values.length + 1,
      last: log.head(),
    });
    const { entries, unreadable } = await log.list(everything, signal);
    expect(unreadable).toBe(0);
    const completed = entries.filter(({ target }) => target["invalid_members"] === member);
    expect(completed.length).toBeGreaterThan(4);
    expect(repaired).toEqual(completed.map(() => [member]));
    // What was right about it is there.
    for (const each of completed)
      expect([each.operation, each.key_id]).toEqual([
        member === "operation" ? "audit.unnamed" : "odd",
        member === "key_id" ? null : "alice",
      ]);
    // The note that it was started is one that the next process can read.
    log.dispose();
    expect(openReal(stateDir).log.left).toHaveLength(values.length);
  });

  it("is written without its target where that is longer than a line may be", async () => {
    const { log, repaired } = openReal();
    const target = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`member-${at}`, "x".repeat(4000)]));
    log.record(entry("long", 0, { target }));
    log.record(entry("last"));
    expect(await verifyAudit(log.directory, [])).toMatchObject({ broken: undefined, entries: 2 });
    const { entries } = await log.list(everything, signal);
    expect(entries[1]).toMatchObject({ operation: "long", target: { invalid_members: "target" } });
    expect(repaired).toEqual([["target"]]);
  });
});

describe("the audit log on disk", () => {
  it("is private, and continues where it ended", async () => {
    const { log, stateDir, path } = openReal();
    log.record(entry("one"));
    openReal(stateDir).log.record(entry("two"));
    expect(readFileSync(path, "utf8").trim().split("\n")).toHaveLength(2);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(log.directory).mode & 0o777).toBe(0o700);
    expect(await verifyAudit(log.directory, [])).toMatchObject({ broken: undefined, entries: 2, last: { seq: 2 } });
  });

  it("keeps as many files as it is asked to, and says which are gone", async () => {
    const { log, files, troubles } = openReal(undefined, 1500);
    for (let at = 0; at < 40; at += 1) log.record(entry("one"));
    expect(files()).toHaveLength(3);
    expect(files()[0]).not.toBe("audit-000000000001.log");
    const verdict = await verifyAudit(log.directory, []);
    expect(verdict).toMatchObject({ broken: undefined, files: 3 });
    expect(verdict.first?.seq).toBeGreaterThan(10);
    expect(verdict.last).toEqual(log.head());
    expect(troubles).toEqual([]);
    unlinkSync(join(log.directory, files()[0] ?? ""));
    expect((await verifyAudit(log.directory, [])).broken?.what).toMatch(/an old file is gone, and no entry says/);
  });

  it("is not called intact without a word about journal files that could not be read", async () => {
    const { log, stateDir } = openReal();
    log.record(entry("one"));
    const dir = at("journal");
    mkdirSync(dir);
    writeFileSync(join(dir, "text.journal"), "not a journal\n".repeat(100));
    const settings = { journal: { dir } };
    const report = await verifyHostAudit({ stateDir, settings }, { heads: [], unit: "steward.service" });
    expect(report).toMatchObject({ broken: undefined, notCompared: undefined, entries: 1 });
    expect(report.notes).toContain(
      `records may be missing from the journal: ${join(dir, "text.journal")}: it does not begin as a journal file does`,
    );
  });

  it("reports when it was deleted, or changed by somebody else", () => {
    const { log, path } = openReal();
    log.record(entry("one"));
    expect(log.check()).toBeUndefined();
    appendFileSync(path, "something");
    expect(log.check()).toMatch(/was changed by another program/);
    unlinkSync(path);
    expect(log.check()).toMatch(/was deleted while it is in use/);
  });

  it("counts lines that are no entries, and answers the others", async () => {
    const { log, path } = openReal();
    log.record(entry("one"));
    appendFileSync(
      path,
      `${"x".repeat(3_000_000)}\nnonsense\n{"seq":2,"prev":"${"0".repeat(64)}","time":"2026-01-01"}\n`,
    );
    const page = await log.list(everything, signal);
    expect([page.entries.length, page.unreadable]).toEqual([1, 3]);
  });
});
