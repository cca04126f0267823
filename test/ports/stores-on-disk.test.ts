import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import { openExpendable } from "#adapters/sqlite/index.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { directoryPerTest } from "./support/directories.ts";
import { runUntilKilled } from "./support/programs.ts";
import { storesOnDisk } from "./support/stores.ts";

const at = directoryPerTest();
let dispose: (() => void) | undefined;
let troubles: string[] = [];
const close = (): void => {
  dispose?.();
  dispose = undefined;
};
afterEach(() => {
  close();
  troubles = [];
});
const onTrouble = (_: Error, aside?: string): void => void troubles.push(aside ?? "memory");
const named = Object.entries(storesOnDisk).map(([name, store]) => ({ name, ...store }));

describe.each(named)("$file, the database of the $name,", ({ file, worksInMemory, open: openIn }) => {
  /** As a service that starts over. */
  const open = (stateDir = at()) => {
    close();
    const store = openIn({ stateDir, onTrouble });
    dispose = store.dispose;
    return store;
  };

  it("is private, and has what was written when it is opened again", () => {
    const store = open();
    const empty = store.read();
    store.write();
    const written = store.read();
    expect(written).not.toEqual(empty);
    for (const path of [at(file), at(`${file}-wal`)]) expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(open().read()).toEqual(written);
    expect(troubles).toEqual([]);
  });

  it("is moved aside where it is corrupt, and starts empty", () => {
    const content = "this is not a database, and was never one";
    writeFileSync(at(file), content);
    const store = open();
    store.write();
    const written = store.read();
    expect(troubles).toEqual([at(`${file}.damaged`)]);
    expect(readFileSync(at(`${file}.damaged`), "utf8")).toBe(content);
    expect(open().read()).toEqual(written);
  });

  it(`${worksInMemory ? "works in memory" : "takes nothing"} where no file can be made`, () => {
    const store = open(at("nowhere"));
    const empty = store.read();
    if (worksInMemory) {
      store.write();
      expect(store.read()).not.toEqual(empty);
    } else {
      expect(store.write).toThrow(HostUnavailable);
      expect(store.write).toThrow(/\.db could not be opened.*restart the service/);
      expect(store.read()).toEqual(empty);
    }
    expect(troubles).toEqual(["memory"]);
  });
});

it("a killed process has lost nothing that it wrote to any database", async () => {
  const program = `
    const { storesOnDisk } = await import(${JSON.stringify(new URL("support/stores.ts", import.meta.url).href)});
    for (const { open } of Object.values(storesOnDisk))
      open({ stateDir: process.argv[1], onTrouble: (error) => { throw error; } }).write();
    process.kill(process.pid, "SIGKILL");`;
  await runUntilKilled(program, at());
  for (const { name, open } of named) {
    const [found, other] = [
      open({ stateDir: at(), onTrouble }),
      open({ stateDir: at("nowhere"), onTrouble: () => undefined }),
    ];
    const empty = other.read();
    expect([name, found.read()]).not.toEqual([name, empty]);
    for (const each of [found, other]) each.dispose();
  }
  expect(troubles).toEqual([]);
});

describe("an expendable database", () => {
  const format = {
    ...{ file: "some.db", version: 1, schema: "CREATE TABLE kept (text TEXT) STRICT;", check: "SELECT 1" },
    statements: { add: "INSERT INTO kept VALUES (?)", count: "SELECT count(*) AS n FROM kept" },
  };
  const open = () => {
    close();
    const database = openExpendable(format, { stateDir: at(), onTrouble });
    dispose = database.dispose;
    return { ...database, count: () => database.use(({ count }) => count.get()?.["n"]) };
  };
  /** One whose first pages are intact: it opens, and then does not hold what it says. */
  const writeCorrupt = (): void => {
    const { change } = open();
    change(({ add }) => {
      for (let count = 0; count < 2000; count += 1) add.run("x".repeat(500));
    });
    close();
    const bytes = readFileSync(at("some.db"));
    bytes.fill(0xa5, 2 * 4096);
    writeFileSync(at("some.db"), bytes);
  };

  it.each([
    ["a header that is cut off", "SQLite format 3\0"],
    ["noise behind the header", `SQLite format 3\0${"\x7f".repeat(8000)}`],
  ])("is moved aside where it has %s", (_, content) => {
    writeFileSync(at("some.db"), content);
    expect(open().count()).toBe(0);
    expect([troubles, readFileSync(at("some.db.damaged"), "latin1")]).toEqual([[at("some.db.damaged")], content]);
  });

  it("is moved aside where it is of another version, or a link to somebody else's file", () => {
    const foreign = new DatabaseSync(at("some.db"));
    foreign.exec("PRAGMA user_version = 99");
    foreign.close();
    open().run("add", "one");
    close();
    rmSync(at("some.db"));
    writeFileSync(at("victim"), "mine");
    symlinkSync(at("victim"), at("some.db"));
    open().run("add", "one");
    expect(troubles).toEqual([at("some.db.damaged"), at("some.db.damaged")]);
    expect(readFileSync(at("victim"), "utf8")).toBe("mine");
  });

  it("is moved aside when damage shows while it is used, and the work is done on a new one", () => {
    writeCorrupt();
    const database = open();
    expect(troubles).toEqual([]);
    expect(database.count()).toBe(0);
    database.run("add", "one");
    expect([database.count(), troubles, existsSync(at("some.db.damaged"))]).toEqual([1, [at("some.db.damaged")], true]);
  });

  it("continues in memory when damage shows and its file cannot be moved aside", () => {
    mkdirSync(at("aside"));
    writeCorrupt();
    const database = open();
    renameSync(at("some.db"), at("aside/some.db"));
    for (const ending of ["-wal", "-shm"]) rmSync(at(`some.db${ending}`), { force: true });
    expect([database.count(), database.count(), database.lasts()]).toEqual([0, 0, false]);
    expect(troubles.at(-1)).toBe("memory");
  });
});
