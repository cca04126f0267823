import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { aptPaths } from "#adapters/packages/apt/arguments.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import { noProgress } from "#domain/ports/packages.ts";
import { createFakeClock, type FakeClock } from "../fakes/clock.ts";
import { fakeMissingPlan } from "../fakes/package-manager.ts";

const signal = new AbortController().signal;
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "steward-repairs-"));
});
afterEach(() => rmSync(root, { recursive: true }));

type Answer = Partial<CommandResult>;
const simulated = "Inst needed (1.0 Test:stable [all])\nConf needed (1.0 Test:stable [all])\nConf needy (1.0  [all])\n";
const uris = "'http://deb.example.org/needed_1.0_all.deb' needed_1.0_all.deb 724 SHA256:00\n";

/** Programs that answer as set; the real ones are in test/host/packages.long.test.ts. */
function onPrograms(answers: { simulate?: Answer; act?: () => Answer } = {}, booted = "/nonexistent") {
  const acted: string[][] = [];
  const clock = createFakeClock();
  const answer = (argv: readonly string[]): CommandResult => {
    const isQuestion = ["--simulate", "--print-uris", "/usr/bin/apt-config"].some((word) => argv.includes(word));
    if (!isQuestion) acted.push([...argv]);
    const reported = isQuestion ? (answers.simulate ?? { stdout: simulated }) : answers.act?.();
    return {
      exitCode: 0,
      stdout: "",
      stderr: "",
      truncated: false,
      ...(argv.includes("--print-uris") ? { stdout: uris } : reported),
    };
  };
  const exec: Exec = (argv) => Promise.resolve(argv).then(answer);
  const locks = { frontendLock: join(root, "a"), databaseLock: join(root, "b"), lists: root };
  const { repairs, lists } = apt.open({
    needsReboot: () => Promise.resolve(false),
    exec,
    clock,
    paths: { ...aptPaths, ...locks },
    places: { booted, output: join(root, "out") },
  });
  return { repairs, lists, acted, clock };
}

/** Moves the clock on until the work is done, which waits for files in between. */
async function whileTimePasses(clock: FakeClock, work: Promise<void>): Promise<void> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  work.then(over, over);
  while (!isOver) {
    // The clock must not move while the machine is slow.
    if (clock.isSleptBy()) await clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return work;
}

describe("repairs of packages by apt", () => {
  it("do only what was planned, and plan nothing that would remove packages", async () => {
    const planned = fakeMissingPlan({ downloadBytes: 724 });
    const { repairs } = onPrograms();
    expect(await repairs.planMissing([], signal)).toEqual(planned);
    const other = { ...planned, changes: [{ name: "else", architecture: "all", from: null, to: "1.0" }] };
    await expect(repairs.installMissing(other, signal)).rejects.toThrow("has changed meanwhile");
    const removal = {
      exitCode: 100,
      stdout: "The following packages will be REMOVED:\n  hopeless other\n0 upgraded\n",
      stderr: "E: Packages need to be removed but remove is disabled.\n",
    };
    const hopeless = onPrograms({ simulate: removal }).repairs;
    const plan = await hopeless.planMissing([], signal);
    const obstacle = /^apt would have to remove hopeless, other/;
    expect(plan).toMatchObject({ changes: [], obstacle: expect.stringMatching(obstacle) });
    await expect(hopeless.installMissing(plan, signal)).rejects.toThrow(obstacle);
  });

  it("take no option for a name of a package", async () => {
    const { repairs, acted } = onPrograms();
    await expect(repairs.planMissing(["--allow-downgrades"], signal)).rejects.toThrow("not a package name");
    expect(acted).toEqual([]);
  });

  it("wait for a program that took the lock in between, for 60 s", async () => {
    const text = `dpkg: error: dpkg frontend lock was locked by another process with pid ${process.pid}\n`;
    let tries = 0;
    const { repairs, acted, clock } = onPrograms({
      act() {
        tries += 1;
        return tries <= 3 ? { exitCode: 2, stderr: text } : {};
      },
    });
    await whileTimePasses(clock, repairs.finish(signal));
    expect(acted).toHaveLength(4);
    const stuck = onPrograms({ act: () => ({ exitCode: 2, stderr: text }) });
    await expect(whileTimePasses(stuck.clock, stuck.repairs.finish(signal))).rejects.toThrow(
      `(process ${process.pid}) holds the lock of the package manager, and did so for the 60 s that were waited`,
    );
  });

  it("report the last line that dpkg wrote in its unit, however much it wrote", async () => {
    const { repairs } = onPrograms(
      {
        act: () => {
          mkdirSync(join(root, "out"), { recursive: true });
          writeFileSync(join(root, "out", "steward-dpkg-configure.log"), `${"x".repeat(200_000)}\nlast words\n`);
          return { exitCode: 1 };
        },
      },
      "/",
    );
    await expect(repairs.finish(signal)).rejects.toThrow(/^last words$/);
  });

  it("say that dpkg continues when they are no longer waited for, but not when it was never started", async () => {
    const failing = (error: Error) =>
      onPrograms(
        {
          act() {
            throw error;
          },
        },
        "/",
      ).repairs.finish(signal);
    await expect(failing(new CommandFailed("cannot run systemd-run: cancelled"))).rejects.toThrow(
      "steward-dpkg-configure.service continues by itself",
    );
    const missing = new CommandFailed("cannot run systemd-run: ENOENT", { cause: new Error("ENOENT") });
    await expect(failing(missing)).rejects.toBe(missing);
  });

  it("fail where lists could not be fetched although apt succeeds", async () => {
    const stdout = "Err:1 http://x\nW: Failed to fetch http://x/InRelease  Could not connect\n";
    const { lists, acted } = onPrograms({ act: () => ({ stdout }) });
    await expect(lists.refresh(noProgress, signal)).rejects.toThrow("Failed to fetch http://x/InRelease");
    expect(acted).toHaveLength(1);
  });

  it("start nothing once they are cancelled", async () => {
    const { repairs, acted } = onPrograms();
    const stopping = AbortSignal.abort(new Error("the service is stopping"));
    await expect(repairs.finish(stopping)).rejects.toThrow("is stopping");
    expect(acted).toEqual([]);
  });
});
