import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type PackageChange, type TransactionPlan, UpdateRefused } from "#domain/ports/packages.ts";
import { type Transaction, TransactionFailed, unitFor } from "../common/transactions.ts";
import { argumentsFor, toArguments } from "./arguments.ts";
import { createCommit, createMarks, markCommands, wordsToMark } from "./commit.ts";

const change = (name: string, rest: Partial<PackageChange> = {}): PackageChange => ({
  name,
  architecture: "amd64",
  from: "1.0",
  to: "1.1",
  isSecurity: false,
  ...rest,
});

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-apt-test-"));
});

afterEach(() => rmSync(directory, { recursive: true }));

describe("words for apt", () => {
  it("are never options or more than one word", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (name, to) => {
        try {
          const words = toArguments(argumentsFor([change(name, { to })]));
          const operands = words.slice(words.indexOf("--") + 1);
          expect(operands).toHaveLength(1);
          expect(operands[0]).toMatch(/^[a-z0-9][a-z0-9+.-]*:amd64=[A-Za-z0-9.+:~-]+$/);
        } catch (error) {
          expect(String(error)).toMatch(/^UpdateRefused: /);
        }
      }),
    );
  });

  it("mark packages that nobody asked for as automatic again, 500 a command", () => {
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
    const launched: Transaction[] = [];
    let asked = 0;
    const marks = createMarks(directory);
    const commit = createCommit({
      simulate: { changes: () => Promise.resolve(simulated[asked++] ?? plan.changes) },
      async transact(transaction) {
        const error = ends[launched.length];
        await transaction.before?.();
        launched.push(transaction);
        if (error !== undefined) throw error;
        return "";
      },
      paths: { frontendLock: "/frontend", databaseLock: "/database" },
      isAutomatic: () => Promise.resolve(() => false),
      marks,
      directories: { packages: directory, archives: directory },
    });
    const progress = { step: () => undefined, line: () => undefined };
    const run = (given: TransactionPlan = plan) => commit(given, { id: "one", progress }, signal);
    return { run, launched, marks };
  }

  it.each([
    ["before the download", [[]], 0],
    ["after it", [plan.changes, [change("app")]], 1],
  ] as const)("is refused when something else would be done: %s", async (_, simulated, count) => {
    const { run, launched } = started(simulated);
    await expect(run()).rejects.toThrow(UpdateRefused);
    expect(launched).toHaveLength(count);
  });

  it("remembers the marks when it breaks off", async () => {
    const { run, marks } = started([], [undefined, new TransactionFailed("app: no")]);
    expect(await run()).toEqual({ isDone: false, reason: "app: no" });
    expect(await marks.read("steward-packages-one")).toEqual(["fresh:amd64"]);
  });

  it("is refused where there is no space", async () => {
    for (const bytes of [{ downloadBytes: 10 ** 18 }, { diskBytes: 10 ** 18 }]) {
      const { run, launched } = started([]);
      await expect(run({ ...plan, ...bytes })).rejects.toThrow(/^not enough disk space: .* are needed$/);
      expect(launched).toEqual([]);
    }
  });
});

describe("marks that are to be set", () => {
  it("are remembered over attempts, and forgotten", async () => {
    const marks = createMarks(join(directory, "deep"));
    expect(await marks.read("unit")).toEqual([]);
    await marks.remember("unit", ["a", "b:amd64"]);
    await createMarks(join(directory, "deep")).remember("unit", ["b:amd64", "c"]);
    expect(await marks.read("unit")).toEqual(["a", "b:amd64", "c"]);
    expect(await marks.read("other")).toEqual([]);
    await marks.forget("unit");
    expect(await marks.read("unit")).toEqual([]);
  });

  it("are names and nothing else, whatever the file holds", async () => {
    writeFileSync(join(directory, "unit.auto"), "good\n--option=x\n\nBad name\n");
    expect(await createMarks(directory).read("unit")).toEqual(["good"]);
  });
});
