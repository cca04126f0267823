import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import { aptPaths } from "#adapters/packages/apt/words.ts";
import { noProgress, type PackageManager } from "#domain/ports/packages.ts";
import { createFakeClock, type FakeClock } from "../fakes/clock.ts";
import { createFakePackageManager, fakeMissingPlan } from "../fakes/package-manager.ts";

const signal = new AbortController().signal;
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "steward-repairs-"));
});
afterEach(() => rmSync(root, { recursive: true }));

type Answer = Partial<CommandResult>;
const simulated = "Inst needed (1.0 Test:stable [all])\nConf needed (1.0 Test:stable [all])\nConf needy (1.0  [all])\n";
const uris = "'http://deb.example.org/needed_1.0_all.deb' needed_1.0_all.deb 724 SHA256:00\n";

/** Programs that answer as told; the real ones are in test/host. */
function onPrograms(
  answers: { simulate?: Answer | (() => Answer); act?: Answer | (() => Answer) } = {},
  booted = "/nonexistent",
) {
  const acted: string[][] = [];
  const clock = createFakeClock();
  const of = (answer: Answer | (() => Answer) = {}): Answer => (typeof answer === "function" ? answer() : answer);
  const answer = (argv: readonly string[]): CommandResult => {
    const isQuestion = argv.includes("--simulate") || argv.includes("--print-uris");
    if (!isQuestion) acted.push([...argv]);
    const told = argv.includes("--print-uris")
      ? { stdout: uris }
      : of(isQuestion ? (answers.simulate ?? { stdout: simulated }) : answers.act);
    return { exitCode: 0, stdout: "", stderr: "", truncated: false, ...told };
  };
  const exec: Exec = (argv) => Promise.resolve(argv).then(answer);
  const locks = { frontendLock: join(root, "a"), databaseLock: join(root, "b"), listsLock: join(root, "c") };
  const places = { booted, output: join(root, "out") };
  const repairs = apt.open({
    needsReboot: () => Promise.resolve(false),
    exec,
    clock,
    paths: { ...aptPaths, ...locks },
    places,
  });
  return { repairs, acted, clock };
}

function fakeWith(changes: { missing?: ReturnType<typeof fakeMissingPlan>; trouble?: string }): PackageManager {
  return Object.assign(createFakePackageManager(), changes);
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
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return work;
}

const planned = fakeMissingPlan({ downloadBytes: 724 });
const removal = {
  exitCode: 100,
  stdout: "The following packages will be REMOVED:\n  hopeless other\n0 upgraded\n",
  stderr: "E: Packages need to be removed but remove is disabled.\n",
};

describe.each([
  [
    "fake",
    () => fakeWith({ missing: planned }),
    () => fakeWith({ missing: planned, trouble: "needy: no" }),
    () =>
      fakeWith({
        missing: fakeMissingPlan({ changes: [], configured: [], obstacle: "apt would have to remove hopeless, other" }),
      }),
  ],
  [
    "apt",
    () => onPrograms().repairs,
    () =>
      onPrograms({ act: { exitCode: 1, stdout: "dpkg: error processing package needy (--configure):\n no\n" } })
        .repairs,
    () => onPrograms({ simulate: removal }).repairs,
  ],
])("repairs of packages: %s", (_, make, makeFailing, makeHopeless) => {
  it("succeed", async () => {
    const repairs = make();
    await repairs.finish(signal);
    const plan = await repairs.planMissing([], signal);
    expect(plan).toEqual(planned);
    await repairs.installMissing(plan, signal);
    await repairs.refresh(noProgress, signal);
  });

  it("say why they failed", async () => {
    const repairs = makeFailing();
    await expect(repairs.finish(signal)).rejects.toThrow("needy: no");
    await expect(repairs.installMissing(planned, signal)).rejects.toThrow("needy: no");
    await expect(repairs.refresh(noProgress, signal)).rejects.toThrow("needy: no");
  });

  it("do not what was not planned, nor what is not possible", async () => {
    const other = { ...planned, changes: [{ name: "else", architecture: "all", from: null, to: "1.0" }] };
    await expect(make().installMissing(other, signal)).rejects.toThrow("has changed meanwhile");
    const plan = await makeHopeless().planMissing([], signal);
    expect(plan).toMatchObject({
      changes: [],
      obstacle: expect.stringMatching(/^apt would have to remove hopeless, other/),
    });
    await expect(makeHopeless().installMissing(plan, signal)).rejects.toThrow("apt would have to remove");
  });
});

describe("repairs of packages: apt", () => {
  it("never remove, never ask, keep settings, and take nothing from the environment", async () => {
    const { repairs, acted } = onPrograms();
    await repairs.finish(signal);
    await repairs.installMissing(await repairs.planMissing(["torn"], signal), signal);
    expect(acted[0]?.slice(-5)).toEqual([
      "/usr/bin/dpkg",
      "--force-confdef",
      "--force-confold",
      "--configure",
      "--pending",
    ]);
    expect(acted[0]?.slice(0, 2)).toEqual(["/usr/bin/env", "-i"]);
    expect(acted[0]).toContain("DEBIAN_FRONTEND=noninteractive");
    expect(acted[1]).toEqual(expect.arrayContaining(["--assume-yes", "--no-remove", "--fix-broken", "--reinstall"]));
    expect(acted[1]?.slice(-3)).toEqual(["install", "--", "torn"]);
  });

  it("take no option for a name", async () => {
    const { repairs, acted } = onPrograms();
    await expect(repairs.planMissing(["--allow-downgrades"], signal)).rejects.toThrow("not a package name");
    expect(acted).toEqual([]);
  });

  it("wait for who came in between, and then succeed", async () => {
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
  });

  it("name who does not give up the lock", async () => {
    const locked = `E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process ${process.pid} (x)\n`;
    const { repairs, acted, clock } = onPrograms({ act: { exitCode: 100, stderr: locked } });
    const name = readFileSync("/proc/self/comm", "utf8").trim();
    await expect(whileTimePasses(clock, repairs.finish(signal))).rejects.toThrow(
      `${name} (process ${process.pid}) holds the lock of the package manager, and did so for the 60 s that were waited`,
    );
    expect(acted.length).toBeGreaterThan(10);
  });

  it("run as a unit of their own where systemd runs, and read what it wrote", async () => {
    const unit = onPrograms(
      {
        act: () => {
          mkdirSync(join(root, "out"), { recursive: true });
          writeFileSync(join(root, "out", "steward-dpkg-configure.log"), `${"x".repeat(200_000)}\nlast words\n`);
          return { exitCode: 1 };
        },
      },
      "/",
    );
    await expect(unit.repairs.finish(signal)).rejects.toThrow(/^last words$/);
    const [argv = []] = unit.acted;
    expect(argv.slice(0, 2)).toEqual(["/usr/bin/systemd-run", "--wait"]);
    expect(argv).toEqual(expect.arrayContaining(["--collect", "--unit=steward-dpkg-configure"]));
    expect(argv).not.toContain("--pipe");
    expect(argv[argv.indexOf("--") + 1]).toBe("/usr/bin/env");
  });

  it("say that dpkg goes on when they are no longer waited for, but not when it was never started", async () => {
    const gone = "steward-dpkg-configure.service goes on by itself";
    const failing = (error: Error) =>
      onPrograms(
        {
          act() {
            throw error;
          },
        },
        "/",
      ).repairs.finish(signal);
    await expect(failing(new CommandFailed("cannot run systemd-run: cancelled"))).rejects.toThrow(gone);
    const missing = new CommandFailed("cannot run systemd-run: ENOENT", { cause: new Error("ENOENT") });
    await expect(failing(missing)).rejects.toBe(missing);
  });

  it("do not take lists that could not be fetched for fresh ones", async () => {
    const text = "Err:1 http://x\nW: Failed to fetch http://x/InRelease  Could not connect\n";
    const { repairs, acted } = onPrograms({ act: { exitCode: 0, stdout: text } });
    await expect(repairs.refresh(noProgress, signal)).rejects.toThrow("Failed to fetch http://x/InRelease");
    expect(acted).toHaveLength(1);
  });

  it("start nothing once they are told to end", async () => {
    const { repairs, acted } = onPrograms();
    await expect(repairs.finish(AbortSignal.abort(new Error("the service is stopping")))).rejects.toThrow(
      "is stopping",
    );
    expect(acted).toEqual([]);
  });
});
