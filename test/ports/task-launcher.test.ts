import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startDetached } from "#adapters/exec/detached.ts";
import { exec } from "#adapters/exec/index.ts";
import { createTaskLauncher } from "#adapters/operations/launcher.ts";
import { isAlive, ownProcess, parseStat } from "#adapters/operations/process.ts";
import type { ProcessIdentity, TaskLauncher } from "#domain/ports/operations.ts";
import { createFakeTaskLauncher } from "../fakes/task-launcher.ts";

/** A launcher with what its tasks did and processes to ask about. */
interface Bench {
  readonly launcher: TaskLauncher;
  readonly launched: () => Promise<readonly string[]>;
  readonly begin: () => Promise<ProcessIdentity>;
  readonly end: (process: ProcessIdentity) => Promise<void>;
}

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-launcher-"));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

async function until<T>(ask: () => T | undefined): Promise<T> {
  for (;;) {
    const answer = ask();
    if (answer !== undefined) return answer;
    await sleep(10);
  }
}
const contentOf = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, "utf8") : undefined);
const inFolder = (...parts: readonly string[]): string => join(stateDir, ...parts);

const realLauncher = (script: string, environment: Readonly<Record<string, string>> = {}): TaskLauncher => {
  writeFileSync(inFolder("task.mjs"), script);
  return createTaskLauncher({
    exec,
    startDetached,
    stateDir,
    program: { argv: [process.execPath, inFolder("task.mjs"), "task", "run"], environment },
    hasSystemd: () => false,
  });
};

function fakeBench(): Bench {
  const launcher = createFakeTaskLauncher();
  return {
    launcher,
    launched: () => Promise.resolve(launcher.launched),
    begin: () => Promise.resolve(launcher.begin()),
    end: (process) => Promise.resolve(launcher.kill(process)),
  };
}

function realBench(): Bench {
  const children = new Map<number, ReturnType<typeof spawn>>();
  mkdirSync(inFolder("operations/a-1"), { recursive: true });
  const launcher = realLauncher(
    `
    import { renameSync, writeFileSync } from "node:fs";
    writeFileSync(process.env.FOLDER + "/new", process.argv.at(-1));
    renameSync(process.env.FOLDER + "/new", process.env.FOLDER + "/launched");`,
    { FOLDER: stateDir },
  );
  return {
    launcher,
    launched: async () => [await until(() => contentOf(inFolder("launched")))],
    async begin() {
      const child = spawn("sleep", ["60"], { stdio: "ignore" });
      await new Promise((resolve) => child.once("spawn", resolve));
      const { pid = 0 } = child;
      children.set(pid, child);
      const startTicks = parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"))?.startTicks ?? 0;
      return { ...ownProcess(), pid, startTicks };
    },
    async end({ pid }) {
      const child = children.get(pid);
      const closed = new Promise((resolve) => child?.once("close", resolve));
      child?.kill("SIGKILL");
      await closed;
    },
  };
}

describe.each([
  ["fake", fakeBench],
  ["real", realBench],
])("task launcher (%s)", (_, make: () => Bench) => {
  it("starts the task of an operation", async () => {
    const { launcher, launched } = make();
    await launcher.launch("a-1");
    expect(await launched()).toEqual(["a-1"]);
  });

  it("reports whether a process is still there", async () => {
    const { launcher, begin, end } = make();
    const [one, other] = [await begin(), await begin()];
    expect([launcher.isAlive(one), launcher.isAlive(other)]).toEqual([true, true]);
    await end(one);
    expect([launcher.isAlive(one), launcher.isAlive(other)]).toEqual([false, true]);
    await end(other);
    expect(launcher.isAlive(other)).toBe(false);
  });
});

describe("a process", () => {
  it("is no other one with its number, and none of an earlier boot", () => {
    const own = ownProcess();
    expect(isAlive(own)).toBe(true);
    expect(isAlive({ ...own, startTicks: own.startTicks + 1 })).toBe(false);
    expect(isAlive({ ...own, bootId: "00000000-0000-0000-0000-000000000000" })).toBe(false);
    expect(isAlive({ ...own, pid: 0 })).toBe(false);
  });

  it("is gone when it only waits for its parent to notice", async () => {
    // The shell's child ends, and the shell, which became something else, never asks.
    const parent = spawn("sh", ["-c", "sleep 0.05 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      const pid = await new Promise<number>((resolve) =>
        parent.stdout.once("data", (chunk: Buffer) => resolve(Number(chunk.toString()))),
      );
      const stat = () => parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
      const zombie = await until(() => (stat()?.state === "Z" ? stat() : undefined));
      expect(isAlive({ ...ownProcess(), pid, startTicks: zombie.startTicks })).toBe(false);
    } finally {
      parent.kill("SIGKILL");
    }
  });

  it("is known by its start whatever its name is", () => {
    const fields = Array.from({ length: 50 }, (_, at) => String(at + 3)).join(" ");
    expect(parseStat(`42 (a) b (S 1) ${fields}`)).toEqual({ state: "3", startTicks: 22 });
    expect(parseStat("42 (x) S 1 2")).toBeUndefined();
    expect(parseStat("")).toBeUndefined();
  });
});

describe("a task without systemd", () => {
  it("goes on when what started it is killed, in a session of its own, with nothing of its environment", async () => {
    mkdirSync(inFolder("operations/a-1"), { recursive: true });
    realLauncher(`
      import { readFileSync, renameSync, writeFileSync } from "node:fs";
      const stat = readFileSync("/proc/self/stat", "utf8").split(") ")[1].split(" ");
      console.log("to the folder");
      setTimeout(() => {
        const found = { env: process.env, cwd: process.cwd(), session: Number(stat[3]) === process.pid };
        writeFileSync(process.env.FOLDER + "/new", JSON.stringify(found));
        renameSync(process.env.FOLDER + "/new", process.env.FOLDER + "/found");
      }, 300);`);
    const adapters = new URL("../../src/adapters", import.meta.url).href;
    const service = spawn(
      process.execPath,
      [
        "--input-type=module",
        "-e",
        `const { createTaskLauncher } = await import("${adapters}/operations/launcher.ts");
         const { exec } = await import("${adapters}/exec/index.ts");
         const { startDetached } = await import("${adapters}/exec/detached.ts");
         await createTaskLauncher({ exec, startDetached, stateDir: ${JSON.stringify(stateDir)}, hasSystemd: () => false,
           program: { argv: [process.execPath, ${JSON.stringify(inFolder("task.mjs"))}],
             environment: { FOLDER: ${JSON.stringify(stateDir)} } } }).launch("a-1");
         process.kill(-process.pid, "SIGKILL");`,
      ],
      { stdio: "inherit", detached: true, env: { ...process.env, SECRET: "x" } },
    );
    await new Promise((resolve) => service.once("close", resolve));
    expect(contentOf(inFolder("found"))).toBeUndefined();
    const found = JSON.parse(await until(() => contentOf(inFolder("found"))));
    expect(found).toEqual({
      env: { FOLDER: stateDir, PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8" },
      cwd: "/",
      session: true,
    });
    expect(readFileSync(inFolder("operations/a-1/output"), "utf8")).toBe("to the folder\n");
  });

  it("is reported when it cannot be started", async () => {
    mkdirSync(inFolder("operations/a-1"), { recursive: true });
    const program = { argv: ["/nonexistent/node"] as const, environment: {} };
    const launcher = createTaskLauncher({ exec, startDetached, stateDir, program, hasSystemd: () => false });
    await expect(launcher.launch("a-1")).rejects.toThrow(/cannot run \/nonexistent\/node/);
    await expect(launcher.launch("../a")).rejects.toThrow(/cannot start a task/);
  });
});
