import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CommandFailed } from "#adapters/exec/command.ts";
import { type PackageChange, type TransactionPlan, UpdateRefused } from "#domain/ports/packages.ts";
import { LockHeld, type Transaction, TransactionFailed, unitFor } from "../common/transactions.ts";
import { createCommit, createMarks, markCommands, wordsToMark } from "./commit.ts";
import { toArguments, wordsFor } from "./words.ts";

const change = (name: string, rest: Partial<PackageChange> = {}): PackageChange => ({
  name,
  architecture: "amd64",
  from: "1.0",
  to: "1.1",
  isSecurity: false,
  ...rest,
});

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "steward-apt-test-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

describe("words for apt", () => {
  it("name exactly the versions, and allow no removal that is not named", () => {
    const changes = [change("libc6"), change("base", { architecture: "all", to: "2:1~rc1-1" })];
    expect(wordsFor(changes)).toEqual({
      options: ["--no-install-recommends", "--no-remove"],
      verb: "install",
      operands: ["libc6:amd64=1.1", "base=2:1~rc1-1"],
    });
    expect(wordsFor([change("gone", { to: null })])).toEqual({
      options: ["--no-install-recommends"],
      verb: "install",
      operands: ["gone:amd64-"],
    });
  });

  it("are never options or more than one word", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (name, to) => {
        try {
          const words = toArguments(wordsFor([change(name, { to })]));
          const operands = words.slice(words.indexOf("--") + 1);
          expect(operands).toHaveLength(1);
          expect(operands[0]).toMatch(/^[a-z0-9][a-z0-9+.-]*:amd64=[A-Za-z0-9.+:~-]+$/);
        } catch (error) {
          expect(String(error)).toMatch(/^UpdateRefused: /);
        }
      }),
    );
  });

  it("mark again what nobody asked for, in commands of bearable length", () => {
    const changes = [change("kept"), change("auto"), change("fresh", { from: null }), change("gone", { to: null })];
    const words = wordsToMark(changes, ({ name }) => name !== "kept");
    expect(words).toEqual(["auto:amd64", "fresh:amd64"]);
    expect(markCommands(words)).toEqual([["/usr/bin/apt-mark", "auto", "auto:amd64", "fresh:amd64"]]);
    const many = Array.from({ length: 1_201 }, (_, at) => `p${at}`);
    expect(markCommands(many).map(({ length }) => length - 2)).toEqual([500, 500, 201]);
    expect(markCommands(many).flatMap((argv) => argv.slice(2))).toEqual(many);
    expect(markCommands([])).toEqual([]);
  });

  it("name a unit only after an id that can be part of its name", () => {
    expect(unitFor("op-1A")).toBe("steward-packages-op-1A");
    for (const id of ["", "a/b", "a b", "a.service", "x".repeat(101)]) expect(() => unitFor(id)).toThrow("cannot use");
  });
});

describe("a commit", () => {
  const signal = new AbortController().signal;
  const plan = { changes: [change("app"), change("fresh", { from: null })], downloadBytes: 0, diskBytes: 0 };

  /** A commit whose simulations say these one after the other, and whose transactions do that. */
  function started(simulated: readonly (readonly PackageChange[])[], ends: readonly (Error | undefined)[] = []) {
    const begun: Transaction[] = [];
    let asked = 0;
    const marks = createMarks(folder);
    const steps: [number, string][] = [];
    const lines: string[] = [];
    const commit = createCommit({
      simulate: { changes: () => Promise.resolve(simulated[asked++] ?? plan.changes) },
      async transact(transaction) {
        const error = ends[begun.length];
        await transaction.before?.();
        begun.push(transaction);
        transaction.onLine?.("pmstatus:app:50.0:Unpacking app");
        transaction.onLine?.("Unpacking app (1.1) ...");
        if (error !== undefined) throw error;
        return "";
      },
      paths: { frontendLock: "/frontend", databaseLock: "/database" },
      isAutomatic: () => Promise.resolve(() => false),
      marks,
      folders: { packages: folder, archives: folder },
    });
    const progress = {
      step: (percent: number, what: string) => void steps.push([percent, what]),
      line: (text: string) => void lines.push(text),
    };
    const run = (given: TransactionPlan = plan) => commit(given, { id: "one", progress }, signal);
    return { run, begun, marks, steps, lines };
  }

  it("downloads, then changes, with the same words in one unit, and reports both", async () => {
    const { run, begun, marks, steps, lines } = started([]);
    expect(await run()).toEqual({ isDone: true, reason: "" });
    const words = toArguments(wordsFor(plan.changes));
    const [download, install] = begun.map(({ argv }) => argv);
    expect(download).toEqual(["/usr/bin/apt-get", "--option=APT::Status-Fd=1", "--download-only", ...words]);
    expect(install).toEqual(["/usr/bin/apt-get", "--option=APT::Status-Fd=1", ...words]);
    expect(begun.map(({ unit }) => unit)).toEqual(["steward-packages-one", "steward-packages-one"]);
    expect(begun.map(({ locks }) => locks)).toEqual([
      ["/frontend", "/database"],
      ["/frontend", "/database"],
    ]);
    expect(begun.map(({ afterwards }) => afterwards)).toEqual([
      undefined,
      [["/usr/bin/apt-mark", "auto", "fresh:amd64"]],
    ]);
    expect(steps).toEqual([
      [50, "Unpacking app"],
      [50, "Unpacking app"],
    ]);
    expect(lines).toEqual(["Unpacking app (1.1) ...", "Unpacking app (1.1) ..."]);
    expect(await marks.read("steward-packages-one")).toEqual([]);
  });

  it.each([
    ["before the download", [[]], 0],
    ["after it", [plan.changes, [change("app")]], 1],
  ] as const)("is refused when something else would be done: %s", async (_, simulated, count) => {
    const { run, begun } = started(simulated);
    await expect(run()).rejects.toThrow(UpdateRefused);
    expect(begun).toHaveLength(count);
  });

  it("changes nothing when the download fails", async () => {
    const { run, begun } = started([], [new TransactionFailed("Failed to fetch")]);
    expect(await run()).toEqual({ isDone: false, reason: "Failed to fetch" });
    expect(begun).toHaveLength(1);
  });

  it("remembers the marks when it breaks off", async () => {
    const { run, marks } = started([], [undefined, new TransactionFailed("app: no")]);
    expect(await run()).toEqual({ isDone: false, reason: "app: no" });
    expect(await marks.read("steward-packages-one")).toEqual(["fresh:amd64"]);
  });

  it("says who holds the lock, and passes on what is no answer of the packages", async () => {
    const holder = { pid: 7, program: "dpkg" };
    const locked = started([], [new LockHeld("dpkg (process 7) holds the lock", holder)]);
    await expect(locked.run()).rejects.toMatchObject({ name: "PackagesLocked", holder });
    const broken = started([], [new CommandFailed("cannot run systemd-run: it is not there")]);
    await expect(broken.run()).rejects.toThrow("it is not there");
  });

  it("is refused where there is no room", async () => {
    for (const bytes of [{ downloadBytes: 10 ** 18 }, { diskBytes: 10 ** 18 }]) {
      const { run, begun } = started([]);
      await expect(run({ ...plan, ...bytes })).rejects.toThrow(/^there is no room: .* are needed$/);
      expect(begun).toEqual([]);
    }
  });
});
