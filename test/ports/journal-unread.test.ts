import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { UnreadFiles } from "#contract/log-entry.ts";
import type { Lacking, UnreadFile } from "#domain/ports/journal.ts";
import { boots, everyday, machines, start } from "../journals/entries.ts";
import type { NewEntry } from "../journals/export-format.ts";
import { exportOf } from "../journals/exported.ts";
import { readHeaderField, stateArchived, writeHeaderField } from "../journals/file-header.ts";
import { cursorsOf, everything } from "../journals/known.ts";
import { createLiveDirectory, entriesOfNow, type LiveDirectory } from "../journals/live-directory.ts";
import { dumpJournal } from "../journals/oracle.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { contextOf, never, openJournal, type Reader } from "../journals/reader.ts";
import { createRandom } from "../support/random.ts";

const [bootId = "", laterBoot = ""] = boots;
const [machine = ""] = machines;
const hour = 3_600_000_000;
const said = (message: string, realtime: number): NewEntry => ({
  bootId,
  realtime,
  monotonic: realtime - start + 1,
  fields: [
    ["MESSAGE", message],
    ["_SYSTEMD_UNIT", "a.service"],
  ],
});
const messagesOf = ({ logs }: { readonly logs: readonly { readonly message: string }[] }) =>
  logs.map(({ message }) => message);

/** Overwrites the file from the entry with this message on with what no object is. */
function damage(path: string, message: string): void {
  const bytes = readFileSync(path);
  const from = bytes.indexOf(`MESSAGE=${message}`);
  expect(from).toBeGreaterThan(0);
  bytes.fill(0xff, from, from + 4096);
  writeFileSync(path, bytes);
}

function setUnknownFlag(path: string): void {
  writeHeaderField(path, "incompatibleFlags", readHeaderField(path, "incompatibleFlags") | (1n << 30n));
}

describe.skipIf(!canMakeJournals())("the files of a journal", () => {
  let directory: LiveDirectory;
  let reader: Reader;
  beforeEach(() => {
    directory = createLiveDirectory();
    reader = openJournal(directory.path);
  });
  afterEach(() => {
    reader.dispose();
    directory.remove();
  });
  const at = (name: string): string => join(directory.path, name);
  /** Messages by hour, one each. */
  const write = (file: string, ...messages: readonly string[]): void =>
    directory.append(
      file,
      messages.map((message, index) => said(message, start + index * hour)),
    );
  const query = { ...everything, units: undefined };

  it("are those of the namespaces that are asked for", async () => {
    const message = (file: string, text: string, boot = bootId) =>
      directory.append(file, [{ ...said(text, start), bootId: boot }]);
    message("system.journal", "loose");
    message(`${machine}/system.journal`, "own");
    message(`${machine}.tenant/system.journal`, "tenant", laterBoot);
    message(`${machine}.other/system.journal`, "other", laterBoot);
    message(`${machine}.no name/system.journal`, "nowhere");
    const found = async (namespace: string | undefined) => messagesOf(await reader.ask({ ...query, namespace })).sort();
    expect(await found(undefined)).toEqual(["loose", "own"]);
    expect(await found("tenant")).toEqual(["tenant"]);
    expect(await found("+other")).toEqual(["loose", "other", "own"]);
    expect(await found("*")).toEqual(["loose", "other", "own", "tenant"]);
    expect(await found("unknown")).toEqual([]);
    const bootsOf = async (namespace: string | undefined) =>
      (await reader.journal.boots({ units: undefined, namespace }, never)).boots.map(({ id }) => id).sort();
    expect(await bootsOf(undefined)).toEqual([bootId]);
    expect(await bootsOf("tenant")).toEqual([laterBoot]);
    expect(await bootsOf("*")).toEqual([bootId, laterBoot].sort());
  });

  /** What each kind of answer says of files that it could not read. */
  async function unreadInAll(): Promise<Readonly<Record<string, UnreadFiles>>> {
    const { journal, ask } = reader;
    const listed = { units: undefined };
    const compared = { before: undefined, status: undefined, limit: 10 };
    const [cursor = ""] = (await ask(query)).logs.map((entry) => entry.cursor);
    const around = { ...listed, before: 5, after: 5 };
    const context = contextOf(await journal.context({ ...around, cursor }, never));
    const elsewhere = `s=${"0".repeat(32)};i=1;b=${bootId};m=1;t=1;x=1`;
    return {
      query: (await ask(query)).unread ?? [],
      histogram: (await journal.histogram({ ...query, buckets: 5, isFitted: { since: false, until: false } }, never))
        .unread,
      facets: (await journal.facets({ ...query, fields: ["unit"], limit: 5 }, never)).unread,
      templates: (await journal.templates({ ...query, ...compared }, never)).unread,
      context: context.unread ?? [],
      "no context": ((await journal.context({ ...around, cursor: elsewhere }, never)) as Lacking).unread,
      errors: (await journal.rememberedErrors(0, never)).unread,
      boots: (await journal.boots(listed, never)).unread,
      names: (await journal.fieldNames(listed, never)).unread,
      values: (await journal.fieldValues("MESSAGE", listed, never)).unread,
      export: (await journal.export(exportOf("journal"), never)).unread,
    };
  }

  it("are named in every answer where they are of a newer format, no journals, or cannot be opened", async () => {
    write("system.journal", "one", "two");
    const sound = await unreadInAll();
    expect(new Set(Object.values(sound).flat())).toEqual(new Set());
    write("newer.journal", "three");
    setUnknownFlag(at("newer.journal"));
    writeFileSync(at("text.journal"), "not a journal\n".repeat(100));
    mkdirSync(at("directory.journal"));
    symlinkSync("loop.journal", at("loop.journal"));
    const expected = [
      { file: at("directory.journal"), reason: "it cannot be opened (EISDIR)" },
      { file: at("loop.journal"), reason: "it cannot be opened (ELOOP)" },
      { file: at("newer.journal"), reason: "it is of a newer format (incompatible flags 0x40000000)" },
      { file: at("text.journal"), reason: "it does not begin as a journal file does" },
    ];
    for (const [answer, unread] of Object.entries(await unreadInAll())) {
      const named = unread.toSorted((left, right) => (left.file < right.file ? -1 : 1));
      expect([answer, named]).toEqual([answer, expected]);
    }
    expect(messagesOf(await reader.ask(query))).toEqual(["one", "two"]);
    rmSync(at("newer.journal"));
    rmSync(at("text.journal"));
    expect((await reader.ask(query)).unread).toHaveLength(2);
  });

  it("are all that there is: then nothing says that there is no journal", async () => {
    write("system.journal", "one");
    setUnknownFlag(at("system.journal"));
    expect(await reader.ask(query)).toMatchObject({ logs: [], total: 0, unread: [{ file: at("system.journal") }] });
    expect(await reader.journal.missing({ units: undefined }, never)).toBeUndefined();
  });

  it("are named once damage has been met, in answers about their time, by the name that they have then", async () => {
    write("old.journal", "one", "two", "three");
    directory.append("new.journal", [said("later", start + 100 * hour)]);
    for (const name of ["old", "new"]) writeHeaderField(at(`${name}.journal`), "state", BigInt(stateArchived));
    damage(at("old.journal"), "two");
    const late = { ...query, since: start + 50 * hour };
    expect(await reader.ask(late)).not.toHaveProperty("unread");
    const damaged = [
      { file: at("old.journal"), reason: expect.stringMatching(/^it is damaged: .* at byte \d+$/) as string },
    ];
    const { logs, unread } = await reader.ask(query);
    expect([messagesOf({ logs }).slice(0, 1), unread]).toEqual([["one"], damaged]);
    // What was read of it is kept: most answers do not meet the damage again.
    for (const [answer, files] of Object.entries(await unreadInAll()))
      expect([answer, files]).toEqual([answer, damaged]);
    expect(await reader.ask(late)).not.toHaveProperty("unread");
    renameSync(at("old.journal"), at("renamed.journal"));
    expect((await reader.ask({ ...query, units: ["a.service"] })).unread).toMatchObject([{ file: "renamed.journal" }]);
    rmSync(at("renamed.journal"));
    expect(await reader.ask(query)).not.toHaveProperty("unread");
  });

  it("are named where they are overwritten between two answers", async () => {
    write("system.journal", "one", "two");
    expect(messagesOf(await reader.ask(query))).toEqual(["one", "two"]);
    writeFileSync(at("system.journal"), "overwritten");
    expect(await reader.ask(query)).toMatchObject({ logs: [], unread: [{ file: at("system.journal") }] });
    expect(await reader.ask(query)).toMatchObject({ unread: [{ file: at("system.journal") }] });
  });

  it("are not named for a copy that is read instead of them", async () => {
    write("system.journal", "one", "two");
    writeFileSync(at("copy.journal"), readFileSync(at("system.journal")));
    damage(at("system.journal"), "one");
    writeHeaderField(at("copy.journal"), "entryCount", 3n);
    const { unread = [] } = await reader.ask(query);
    expect(unread.map(({ file }) => basename(file))).not.toContain("system.journal");
  });

  it("are named to followers, as soon as they can no longer be read", async () => {
    const lines = (from: number, count: number) =>
      entriesOfNow(Array.from({ length: count }, (_, index) => [["MESSAGE", `line ${from + index}`] as const]));
    directory.append("system.journal", lines(0, 3));
    directory.append("text.journal", lines(0, 1));
    writeFileSync(at("text.journal"), "not a journal\n".repeat(100));
    const reported: (readonly string[])[] = [];
    const ended = new AbortController();
    const seen: string[] = [];
    const onUnread = (files: readonly UnreadFile[]): void => void reported.push(files.map(({ name }) => name).sort());
    const cursor = cursorsOf(dumpJournal(["--file", at("system.journal")]))[0];
    const done = (async () => {
      for await (const batch of reader.journal.follow({ cursor, onUnread }, ended.signal))
        seen.push(...batch.map(({ entry }) => entry.message));
    })();
    await expect.poll(() => seen).toEqual(["line 1", "line 2"]);
    expect(reported).toEqual([["text.journal"]]);
    directory.append("other.journal", lines(3, 1));
    setUnknownFlag(at("other.journal"));
    directory.append("system.journal", lines(4, 1));
    await expect.poll(() => reported.length).toBeGreaterThan(1);
    expect(reported.at(-1)).toEqual(["other.journal", "text.journal"]);
    await expect.poll(() => seen.at(-1)).toBe("line 4");
    ended.abort();
    await done;
  });

  it("are named where a search of their messages meets damage", async () => {
    const random = createRandom(1);
    for (let file = 0; file < 3; file += 1)
      directory.append(
        `${file}.journal`,
        everyday(random, { bootId, realtime: start + file * hour, monotonic: 1 }, 50),
      );
    damage(at("1.journal"), String(dumpJournal(["--file", at("1.journal")])[20]?.entry.message));
    const { unread } = await reader.ask({ ...query, grep: "[a-z]" });
    expect(unread).toMatchObject([{ file: at("1.journal") }]);
  });
});
