import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { firstDifference } from "../journals/compare.ts";
import { specialEntries, timed } from "../journals/entries.ts";
import { encodeEntry, type Field } from "../journals/export-format.ts";
import {
  always,
  askForMatching,
  askForPage,
  canAskJournalctl,
  dumpJournal,
  type KnownEntry,
  matchingEntries,
  pageOf,
  positionOf,
  type Source,
} from "../journals/oracle.ts";
import { appendToJournal, canMakeJournals } from "../journals/programs.ts";
import { queriesOn } from "../journals/queries.ts";
import { byBreadth } from "../support/breadth.ts";
import { createRandom } from "../support/random.ts";
import { eventually } from "./support/eventually.ts";
import { askLogs, journalDirectory, sendNative, synced } from "./support/journal.ts";
import { type LogStreamClient, openLogStream } from "./support/log-stream.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost, type Session } from "./support/session.ts";

const coredump = "fc2e22bc6ee647b6b90729ab34a250b1";
const queryCount = byBreadth(40, 300);
const dayMs = 86_400_000;
const askedOfJournalctl = byBreadth(6, 25);

const message = (text: string | Buffer, ...more: readonly Field[]): readonly Field[] => [["MESSAGE", text], ...more];

/** What root may say of others, what others may not, and texts that are hard to carry. */
const fromRoot = [
  message("dumped core", ["COREDUMP_UNIT", "app-1.service"], ["MESSAGE_ID", coredump], ["PRIORITY", "2"]),
  message("of process 1", ["OBJECT_PID", "1"], ["PRIORITY", "4"]),
  message(Buffer.from([0, 1, 254, 255, 10, 65])),
  message("two\nlines \u2028 and \u{1f600}\n", ["PRIORITY", "5"]),
  message("", ["SYSLOG_IDENTIFIER", "empty"]),
  message(`long ${"0123456789abcdef".repeat(4_000)}`, ["PRIORITY", "3"]),
  message(`huge ${"0123456789abcdef".repeat(80_000)}`),
  [...message("first", ["MESSAGE", "second"], ["PRIORITY", "7"]), ["PRIORITY", "1"]] satisfies readonly Field[],
];
const fromOthers = [
  message("forged", ["UNIT", "app-1.service"], ["_PID", "1"], ["_SYSTEMD_UNIT", "app-1.service"]),
  message("forged crash", ["COREDUMP_UNIT", "app-1.service"], ["MESSAGE_ID", coredump]),
  message("forged object", ["OBJECT_SYSTEMD_UNIT", "app-1.service"]),
];

/** What a container has no kernel log for, and what no journald would write, in a file of an earlier boot beside the live ones. */
async function addForeignFile(session: Session): Promise<void> {
  if (!canMakeJournals()) return;
  const machine = (await session.host.readFile("/etc/machine-id")).trim();
  const kind = { compact: true, keyedHash: true, compress: true };
  const path = join(journalDirectory(session), machine, "foreign.journal");
  const clock = { bootId: "1".repeat(32), realtime: (Date.now() - dayMs) * 1000, monotonic: 1_000 };
  appendToJournal(path, kind, timed(createRandom(1), clock, specialEntries).map(encodeEntry));
}

/** Lets units, users and programs write all kinds of entries. */
async function writeAllKinds(session: Session): Promise<void> {
  const { host, shell } = session;
  const chatty = ["[Service]", "Type=oneshot", "SyslogIdentifier=chat-%i", "ExecStart=/bin/sh -c"];
  const lines = 'for p in 0 1 2 3 4 5 6 7; do echo "<$$p>line of severity $$p"; done; echo plain; echo two >&2';
  await session.writeUnits({
    "app-@.service": [...chatty.slice(0, -1), `ExecStart=/bin/sh -c '${lines}'`],
    "app-1.service": [...chatty.slice(0, -1), `ExecStart=/bin/sh -c '${lines}'`],
    "fails.service": ["[Service]", "ExecStart=/bin/false"],
  });
  await host.exec(["useradd", "--create-home", "--shell", "/bin/sh", "casual"]);
  await host.exec(["systemctl", "start", "app-1.service", "app-@a.service", "app-@b.service"]);
  await host.exec(["systemctl", "start", "fails.service"]);
  await shell("logger -t tagged -p user.err from logger; echo from systemd-cat | systemd-cat -t catted -p warning");
  await sendNative(session, fromRoot);
  await sendNative(session, fromOthers, { user: "casual" });
  // In a unit of its own: what is entered from outside is in no control group of the guest.
  await host.exec(["systemd-run", "--quiet", "--wait", "--pipe", "loginctl", "enable-linger", "casual"]);
  await host.writeFile("/etc/systemd/user/own.service", "[Service]\nType=oneshot\nExecStart=/bin/echo of a user\n");
  const asUser = "XDG_RUNTIME_DIR=/run/user/$(id -u casual) systemctl --user start own.service";
  await eventually(() => shell(`runuser -u casual -- sh -c '${asUser}'`));
  await host.exec(["journalctl", "--rotate"]);
  await host.exec(["systemctl", "start", "app-1.service"]);
  await addForeignFile(session);
  await synced(session);
}

const distinctUnits = (all: readonly KnownEntry[]): readonly string[] => [
  ...new Set(all.map(({ entry }) => entry.unit)),
];

describeOnHost("logs of a running host", (session) => {
  let source: Source;
  let all: readonly KnownEntry[];
  /** What is written later is not in the dump, so that no query looks at it. */
  let latest: number;

  beforeAll(async () => {
    await writeAllKinds(session);
    source = ["-D", journalDirectory(session)];
    // Files are dumped one after the other: what is written meanwhile may be in one of them with a time before the last entry.
    await eventually(() => {
      all = dumpJournal(source);
      latest = Math.max(...all.map(({ realtime }) => realtime));
      expect(dumpJournal(source).filter(({ realtime }) => realtime <= latest).length).toBe(all.length);
    });
  }, 120_000);

  const expectedOf = (query: LogQuery) =>
    pageOf(all, query, query.cursor === undefined ? undefined : positionOf(source, all, query.cursor));

  it("have every kind of entry that this test writes", () => {
    expect(distinctUnits(all)).toEqual(expect.arrayContaining(["app-1.service", "init.scope", ""]));
    const texts = all.map(({ entry }) => entry.message);
    expect(texts).toEqual(expect.arrayContaining(["dumped core", "forged", "of a user", "from logger", ""]));
    expect(Math.max(...texts.map((text) => text.length))).toBe(5 + 16 * 80_000);
    expect(all.some(({ fields }) => fields.has("_SYSTEMD_USER_UNIT"))).toBe(true);
    expect(all.some(({ fields }) => fields.get("UNIT")?.includes("fails.service"))).toBe(true);
    expect(all.some(({ fields }) => fields.get("OBJECT_SYSTEMD_UNIT")?.includes("init.scope"))).toBe(true);
  });

  it("answer random queries as journalctl does", async () => {
    const queries = queriesOn(all, [])
      .filter(({ units }) => units === undefined || units.length === 1)
      .map((query) => ({ ...query, uid: undefined, until: Math.min(query.until, latest) }))
      .filter(({ since, until }) => since <= until);
    const property = fc.asyncProperty(queries, async (query) => {
      // To the endpoint the least severe of all is not a filter, as to journalctl.
      const difference = firstDifference(await askLogs(session, query), expectedOf(query));
      if (difference !== undefined) throw new Error(difference);
    });
    await fc.assert(property, { numRuns: queryCount, seed: 1 });
    for (const query of fc.sample(queries, { numRuns: askedOfJournalctl, seed: 2 }).filter(canAskJournalctl)) {
      const isWithin = (cursor: string): boolean => {
        const found = all.find(({ entry }) => entry.cursor === cursor);
        return found !== undefined && found.realtime >= query.since && found.realtime <= query.until;
      };
      const answer = await askLogs(session, query);
      expect([query, answer.logs.map(({ cursor }) => cursor)]).toEqual([query, askForPage(source, query, isWithin)]);
      expect([query, answer.total]).toEqual([query, askForMatching(source, query).length]);
    }
  });

  it("of a unit are what systemd says of it, and not what others claim", async () => {
    const { logs } = await askLogs(session, { units: ["app-1"], until: latest, limit: 10_000 });
    const texts = logs.map(({ message: text }) => text);
    expect(texts).toEqual(expect.arrayContaining(["dumped core", "line of severity 0", "plain", "two"]));
    expect(texts.some((text) => text.startsWith("Starting app-1.service"))).toBe(true);
    expect(texts.filter((text) => text.startsWith("forged"))).toEqual([]);
  });

  it("are the same in the stream as in a query", async () => {
    const stream = await openLogStream(session.service, session.service.adminKey, {
      cursor: all[0]?.entry.cursor ?? "",
    });
    await stream.until("from logger");
    await eventually(() => expect(stream.entries.length).toBeGreaterThanOrEqual(all.length - 1));
    expect(stream.entries.slice(0, all.length - 1)).toEqual(all.slice(1).map(({ entry }) => entry));
    expect(stream.others).toEqual([]);
    stream.close();
  });

  describe("for a key that is narrowed to units", () => {
    let key: string;
    let stream: LogStreamClient;
    beforeAll(async () => {
      ({ key } = await session.api.createKey({ body: { name: "narrow", scopes: ["logs:read:app-*"] } }));
      stream = await openLogStream(session.service, key);
    });
    afterAll(() => stream.close());

    it("are those of its units alone in a query", async () => {
      const api = createClient({ url: session.service.url, key });
      const asked = { ...always, until: latest, limit: 10_000 };
      const { logs, total } = await askLogs({ api }, asked);
      const query = { ...asked, ...nothingElse, units: ["app-*"] };
      expect(logs).toEqual(matchingEntries(all, query).map(({ entry }) => entry));
      expect(total).toBe(logs.length);
    });

    it("are those of its units alone in the stream", async () => {
      await session.host.exec(["systemctl", "start", "app-@c.service"]);
      await session.shell("logger not of its units; logger -t app-1.service nor this");
      await sendNative(session, fromOthers, { user: "casual" });
      await sendNative(session, [
        message("dumped again", ["COREDUMP_UNIT", "app-2.service"], ["MESSAGE_ID", coredump]),
      ]);
      await stream.until("dumped again");
      // What a program prints, journald may read later than what others have sent since.
      await eventually(async () => {
        const { logs } = await askLogs(session, { units: ["app-*"], since: latest + 1, limit: 10_000 });
        expect(logs.map((entry) => entry.message)).toEqual(expect.arrayContaining(["plain", "two", "dumped again"]));
        expect(stream.entries).toEqual(logs);
      });
    });
  });

  describe("of a unit with LogNamespace=", () => {
    const name = "tenant.service";
    const since = new Date(0).toISOString();
    const messagesOf = async (query: Readonly<Record<string, string>>, api = session.api) =>
      (await api.listLogs({ query: { since, limit: 10_000, ...query } })).logs.map((entry) => entry.message);
    /** As journalctl on the host has them. */
    const printed = async (options: string): Promise<readonly string[]> =>
      (await session.shell(`journalctl -q -o json --output-fields=MESSAGE ${options}`))
        .split("\n")
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as { MESSAGE: string }).MESSAGE);
    const write = async (): Promise<void> => {
      await session.host.exec(["systemctl", "start", name]);
      await session.host.exec(["journalctl", "--namespace=tenant", "--sync"]);
    };
    beforeAll(async () => {
      await session.writeUnits({
        [name]: [
          "[Service]",
          "Type=oneshot",
          "LogNamespace=tenant",
          "SyslogIdentifier=renter",
          "ExecStart=/bin/sh -c 'echo rent is due; echo rent is paid'",
        ],
      });
      await write();
    });

    it("are in its namespace alone, as journalctl has them", async () => {
      const own = await messagesOf({ namespace: "tenant" });
      expect(own).toEqual(expect.arrayContaining(["rent is due", "rent is paid"]));
      expect(own).toEqual(await printed("--namespace=tenant"));
      const byDefault = await messagesOf({});
      expect(byDefault).toContain("from logger");
      expect(byDefault).not.toContain("rent is due");
      const wanted = { identifier: "renter" };
      expect(await messagesOf({ ...wanted, namespace: "+tenant" })).toEqual(
        await printed("--namespace=+tenant -t renter"),
      );
      expect(await messagesOf({ namespace: "*" })).toEqual(expect.arrayContaining(["rent is due", "from logger"]));
    });

    it("are found by its name, with what systemd writes of it", async () => {
      const expected = ["rent is due", "rent is paid", expect.stringMatching(/^Finished tenant\.service/)];
      expect(await messagesOf({ unit: "tenant" })).toEqual(expect.arrayContaining(expected));
      const { logs, not_shown: missing } = await session.api.getService({ params: { name }, query: {} });
      expect(logs?.map((entry) => entry.message)).toEqual(expect.arrayContaining(expected));
      expect(missing.map(({ what }) => what)).not.toContain("logs");
    });

    it("are counted, exported and listed by the same filter", async () => {
      const query = { namespace: "tenant", since };
      const count = (await printed("--namespace=tenant")).length;
      expect((await session.api.getLogFacets({ query: { ...query, fields: "unit" } })).total).toBe(count);
      expect((await session.api.getLogHistogram({ query })).total).toBe(count);
      const values = await session.api.listLogFieldValues({
        params: { name: "_NAMESPACE" },
        query: { namespace: "tenant" },
      });
      expect(values.values).toEqual([{ text: "tenant" }]);
      const parts: Uint8Array[] = [];
      for await (const part of await session.api.exportLogs({ query: { ...query, format: "json" } })) parts.push(part);
      expect(Buffer.concat(parts).toString("utf8").trimEnd().split("\n")).toHaveLength(count);
    });

    it("are streamed with those of the namespaces that are asked for, and not to a key of other units", async () => {
      const { key } = await session.api.createKey({ body: { name: "other", scopes: ["logs:read:app-*"] } });
      const open = (by: string, query = {}) => openLogStream(session.service, by, query);
      const { adminKey } = session.service;
      const own = await open(adminKey, { namespace: "tenant" });
      const byUnit = await open(adminKey, { unit: name });
      const byDefault = await open(adminKey);
      const narrowed = await open(key, { namespace: "*" });
      await write();
      await session.shell("logger -t app after it; systemctl start app-1.service");
      await Promise.all([own.until("rent is paid"), byUnit.until("rent is paid"), narrowed.until("plain")]);
      await byDefault.until("after it");
      expect(byUnit.entries.map((entry) => entry.message)).toContain("rent is due");
      const units = new Set(narrowed.entries.map(({ unit }) => unit));
      expect([...units]).toEqual(["app-1.service"]);
      expect(byDefault.entries.map(({ identifier }) => identifier)).not.toContain("renter");
      expect(own.entries.map((entry) => entry.message)).not.toContain("after it");
      for (const stream of [own, byUnit, byDefault, narrowed]) stream.close();
      const api = createClient({ url: session.service.url, key });
      expect(await messagesOf({ namespace: "tenant" }, api)).toEqual([]);
      expect(await refusal(api.listLogs({ query: { namespace: "tenant", unit: name } }))).toMatchObject({
        status: 403,
      });
    });
  });
});

const nothingElse = {
  priority: undefined,
  identifier: undefined,
  boot: undefined,
  grep: undefined,
  cursor: undefined,
  order: "asc",
} as const;

describeOnHost("logs for a service that is not root", (session) => {
  const start = async (groups: readonly string[]) => {
    await session.service.stop();
    await session.writeUnits({
      "steward.service.d/user.conf": [
        "[Service]",
        "User=plain",
        "StateDirectory=steward",
        "StateDirectoryMode=0700",
        `SupplementaryGroups=${groups.join(" ")}`,
      ],
    });
    await session.service.restart();
  };

  beforeAll(async () => {
    await session.host.exec(["useradd", "--system", "plain"]);
  });

  it("are refused with the remedy where its user may not read them", async () => {
    await start([]);
    expect(await refusal(session.api.listLogs())).toMatchObject({
      status: 503,
      code: "UNAVAILABLE",
      message: expect.stringMatching(/cannot read the journal: .*add .* to the group systemd-journal/),
    });
    const stream = await openLogStream(session.service, session.service.adminKey);
    await eventually(() => expect(stream.others).toMatchObject([{ type: "error", error: { code: "UNAVAILABLE" } }]));
    stream.close();
  });

  it("are listed and streamed where its user is in the group of the journal", async () => {
    await start(["systemd-journal"]);
    const stream = await openLogStream(session.service, session.service.adminKey);
    await session.shell("logger readable now");
    await stream.until("readable now");
    expect((await session.api.listLogs()).logs.map((entry) => entry.message)).toContain("readable now");
    stream.close();
  });
});
