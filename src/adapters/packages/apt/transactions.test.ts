import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { UpdateRefused } from "#domain/updates/ports.ts";
import { createLockTable } from "./locks.ts";
import { createTransactions, parseKill, type Transaction } from "./transactions.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "steward-apt-test-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

it.each([
  [
    "Running as unit: x.service\nFinished with result: signal\nMain processes terminated with: code=killed/status=KILL\n",
    "KILL",
  ],
  ["Main processes terminated with: code=dumped, status=11/SEGV\n", "SEGV"],
  ["Main processes terminated with: code=exited/status=100\n", undefined],
  ["Failed to start transient service unit\n", undefined],
])("a signal that ended a unit is told by %j", (text, signal) => {
  expect(parseKill(text)).toBe(signal);
});

describe("a transaction without systemd", () => {
  const signal = new AbortController().signal;
  const transaction: Transaction = {
    unit: "one",
    description: "a test",
    argv: ["/usr/bin/apt-get", "install"],
    locks: [],
    afterwards: [["/usr/bin/apt-mark", "auto", "fresh"]],
  };

  /** One whose programs end like this; the first is waited for, as are locks. */
  function started(results: readonly Partial<CommandResult>[]) {
    const ran: string[] = [];
    let nowMs = 0;
    const exec: Exec = (argv) => {
      ran.push(argv.filter((word) => word.startsWith("/usr/bin/") && word !== "/usr/bin/env").join());
      return Promise.resolve({ exitCode: 0, stdout: "", stderr: "", truncated: false, ...results[ran.length - 1] });
    };
    const clock = {
      monotonicMs: () => nowMs,
      sleep: (durationMs: number) => {
        nowMs += durationMs;
        return Promise.resolve();
      },
    };
    const places = { booted: join(folder, "none"), output: folder };
    const transact = createTransactions({ exec, clock, locks: createLockTable(folder), places, lockWaitMs: 2_000 });
    return { transact, ran };
  }

  it("gives its lines, and does what comes afterwards", async () => {
    const { transact, ran } = started([{ stdout: "one\ntwo\n" }]);
    const lines: string[] = [];
    expect(await transact({ ...transaction, onLine: (line) => lines.push(line) }, signal)).toBe("one\ntwo\n\n");
    expect(lines).toEqual(["one", "two"]);
    expect(ran).toEqual(["/usr/bin/apt-get", "/usr/bin/apt-mark"]);
  });

  it("looks each time whether it is still to be done, and names who was in the way until the end", async () => {
    const conflict = { exitCode: 100, stderr: "E: Could not get lock /x. It is held by process 4 (apt)\n" };
    const { transact } = started([conflict, {}, conflict, {}, conflict, {}]);
    let looked = 0;
    const before = (): Promise<void> => {
      looked += 1;
      return Promise.resolve();
    };
    await expect(transact({ ...transaction, before }, signal)).rejects.toMatchObject({
      holder: { pid: 4, program: "a process that has ended" },
    });
    expect(looked).toBe(3);
    const refused = started([]);
    const refuse = (): Promise<void> => Promise.reject(new UpdateRefused("no longer the plan"));
    await expect(refused.transact({ ...transaction, before: refuse }, signal)).rejects.toThrow("no longer the plan");
    expect(refused.ran).toEqual([]);
  });
});
