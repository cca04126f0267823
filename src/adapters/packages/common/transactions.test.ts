import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { TransactionUnseen, UpdateRefused } from "#domain/ports/packages.ts";
import { aptOutput } from "../apt/output.ts";
import { createLockTable } from "./locks.ts";
import { createTransactions, parseKill, settle, type Transaction, TransactionFailed } from "./transactions.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-apt-test-"));
});

afterEach(() => rmSync(directory, { recursive: true }));

it.each([
  [
    "Running as unit: x.service\nFinished with result: signal\nMain processes terminated with: code=killed/status=KILL\n",
    "KILL",
  ],
  ["Main processes terminated with: code=dumped, status=11/SEGV\n", "SEGV"],
  ["Main processes terminated with: code=exited/status=100\n", undefined],
  ["Failed to start transient service unit\n", undefined],
])("a signal that ended a unit is found in %j", (text, signal) => {
  expect(parseKill(text)).toBe(signal);
});

describe("a transaction in a unit of its own", () => {
  const signal = new AbortController().signal;
  const clock = { monotonicMs: () => 0, sleep: () => Promise.resolve() };

  const ended =
    "Running as unit: one\nFinished with result: success\nMain processes terminated with: code=exited/status=0\n";

  /** The words that systemd-run was given. */
  async function wordsOf(
    transaction: Partial<Transaction>,
    { stderr = ended, exitCode = 0, state = "inactive\n" } = {},
  ): Promise<readonly string[]> {
    const ran: (readonly string[])[] = [];
    const exec: Exec = (argv) => {
      if (argv[0] === "/usr/bin/systemctl")
        return Promise.resolve({ exitCode: 0, stdout: state, stderr: "", truncated: false });
      ran.push(argv);
      return Promise.resolve({ exitCode, stdout: "", stderr, truncated: false });
    };
    const places = { booted: directory, output: directory };
    const transact = createTransactions({ reader: aptOutput, exec, clock, locks: createLockTable(directory), places });
    await transact({ unit: "one", description: "a test", argv: ["/usr/bin/dpkg"], locks: [], ...transaction }, signal);
    expect(ran).toHaveLength(1);
    return ran[0] ?? [];
  }

  it("completes when the host shuts down, unless it only downloads", async () => {
    const whole = await wordsOf({});
    expect(whole).toEqual(expect.arrayContaining(["--property=KillMode=process", "--property=KillSignal=SIGCONT"]));
    expect(whole.indexOf("--property=KillSignal=SIGCONT")).toBeLessThan(whole.indexOf("--"));
    const cut = await wordsOf({ isInterruptible: true });
    expect(cut.filter((word) => /Kill|Timeout/.test(word))).toEqual([]);
  });

  it.each([
    { stderr: "Running as unit: one.service\nFinished with result: success\n" },
    { stderr: "Running as unit: one.service; invocation ID: 0f\nFailed to reconnect\n", exitCode: 1 },
    { state: "deactivating\n" },
  ])("has neither succeeded nor failed where its end was not seen: %j", async (how) => {
    await expect(wordsOf({}, how)).rejects.toThrow(TransactionUnseen);
  });

  it("has failed where systemd could not start it", async () => {
    const stderr = "Running as unit: one.service\nFinished with result: resources\n";
    await expect(wordsOf({}, { stderr, exitCode: 1 })).rejects.toThrow(TransactionFailed);
  });

  it("leaves the logs of the last ones only", async () => {
    for (let number = 1; number <= 30; number += 1) {
      const path = join(directory, `old-${number}.log`);
      writeFileSync(path, "");
      utimesSync(path, number, number);
    }
    writeFileSync(join(directory, "one.auto"), "");
    utimesSync(join(directory, "one.auto"), 0, 0);
    await wordsOf({});
    const left = readdirSync(directory);
    expect(left).toContain("one.auto");
    const logs = left.filter((name) => name.endsWith(".log"));
    expect(logs).toHaveLength(19);
    expect(logs).toContain("old-30.log");
    expect(logs).not.toContain("old-11.log");
  });
});

it("a transaction is waited for although systemd does not answer for some seconds, and not forever", async () => {
  let asked = 0;
  const settledAfter = (failures: number): Promise<void> => {
    asked = 0;
    const exec: Exec = () => {
      asked += 1;
      const isBack = asked > failures;
      return Promise.resolve({
        exitCode: isBack ? 0 : 1,
        stdout: isBack ? "inactive\n" : "",
        stderr: "no bus",
        truncated: false,
      });
    };
    const host = { exec, clock: { sleep: () => Promise.resolve() }, places: { booted: directory } };
    return settle(host, "one", new AbortController().signal);
  };
  await settledAfter(20);
  expect(asked).toBe(21);
  await expect(settledAfter(1_000)).rejects.toThrow("cannot ask for one.service: no bus");
  expect(asked).toBeLessThan(200);
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
    const places = { booted: join(directory, "none"), output: directory };
    const transact = createTransactions({
      reader: aptOutput,
      exec,
      clock,
      locks: createLockTable(directory),
      places,
      lockWaitMs: 2_000,
    });
    return { transact, ran };
  }

  it("reports its lines, and runs the commands that follow", async () => {
    const { transact, ran } = started([{ stdout: "one\ntwo\n" }]);
    const lines: string[] = [];
    expect(await transact({ ...transaction, onLine: (line) => lines.push(line) }, signal)).toBe("one\ntwo\n\n");
    expect(lines).toEqual(["one", "two"]);
    expect(ran).toEqual(["/usr/bin/apt-get", "/usr/bin/apt-mark"]);
  });

  it("checks before each attempt whether it is still to be done, and names who held the lock to the end", async () => {
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
