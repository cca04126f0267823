import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { startDetached } from "#adapters/exec/detached.ts";
import { exec } from "#adapters/exec/index.ts";
import { parseStat } from "#adapters/exec/proc.ts";
import { createTaskLauncher } from "#adapters/operations/launcher.ts";
import { isAlive, ownProcess } from "#adapters/operations/process.ts";
import type { TaskLauncher } from "#domain/ports/operations.ts";
import { directoryPerTest } from "./support/directories.ts";

const inDirectory = directoryPerTest();

async function until<T>(ask: () => T | undefined): Promise<T> {
  for (;;) {
    const answer = ask();
    if (answer !== undefined) return answer;
    await sleep(10);
  }
}
const contentOf = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, "utf8") : undefined);

const realLauncher = (script: string, environment: Readonly<Record<string, string>> = {}): TaskLauncher => {
  writeFileSync(inDirectory("task.mjs"), script);
  return createTaskLauncher({
    exec,
    startDetached,
    stateDir: inDirectory(),
    program: { argv: [process.execPath, inDirectory("task.mjs"), "task", "run"], environment },
    hasSystemd: () => false,
  });
};

it("the launcher starts the task of an operation", async () => {
  mkdirSync(inDirectory("operations/a-1"), { recursive: true });
  const script = `
    import { renameSync, writeFileSync } from "node:fs";
    writeFileSync(process.env.DIRECTORY + "/new", process.argv.at(-1));
    renameSync(process.env.DIRECTORY + "/new", process.env.DIRECTORY + "/launched");`;
  await realLauncher(script, { DIRECTORY: inDirectory() }).launch("a-1");
  expect(await until(() => contentOf(inDirectory("launched")))).toBe("a-1");
});

describe("a process", () => {
  it("is there until it ends, whatever becomes of others", async () => {
    const begin = async () => {
      const child = spawn("sleep", ["60"], { stdio: "ignore" });
      await once(child, "spawn");
      const { pid = 0 } = child;
      const startTicks = parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"))?.startTicks ?? 0;
      const end = async (): Promise<void> => {
        const closed = once(child, "close");
        child.kill("SIGKILL");
        await closed;
      };
      return { identity: { ...ownProcess(), pid, startTicks }, end };
    };
    const [one, other] = [await begin(), await begin()];
    const alive = () => [one, other].map(({ identity }) => isAlive(identity));
    expect(alive()).toEqual([true, true]);
    await one.end();
    expect(alive()).toEqual([false, true]);
    await other.end();
    expect(alive()).toEqual([false, false]);
  });

  it("is no other one with its number, and none of an earlier boot", () => {
    const own = ownProcess();
    expect(isAlive(own)).toBe(true);
    expect(isAlive({ ...own, startTicks: own.startTicks + 1 })).toBe(false);
    expect(isAlive({ ...own, bootId: "00000000-0000-0000-0000-000000000000" })).toBe(false);
    expect(isAlive({ ...own, pid: 0 })).toBe(false);
  });

  it("is gone when it only waits for its parent to notice", async () => {
    // The child ends once its parent is a program that never asks about it.
    const script = "exec 3<&0; (read -r line <&3) & echo $!; exec sleep 60";
    const parent = spawn("sh", ["-c", script], { stdio: ["pipe", "pipe", "ignore"] });
    try {
      const pid = Number(String((await once(parent.stdout, "data"))[0]));
      await until(() => (contentOf(`/proc/${parent.pid}/comm`) === "sleep\n" ? true : undefined));
      parent.stdin.write("\n");
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
  it("continues when what started it is killed, in a session of its own, with nothing of its environment", async () => {
    mkdirSync(inDirectory("operations/a-1"), { recursive: true });
    realLauncher(`
      import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
      const stat = readFileSync("/proc/self/stat", "utf8").split(") ")[1].split(" ");
      console.log("to the directory");
      const timer = setInterval(() => {
        if (!existsSync(process.env.DIRECTORY + "/go-on")) return;
        clearInterval(timer);
        const found = { env: process.env, cwd: process.cwd(), session: Number(stat[3]) === process.pid };
        writeFileSync(process.env.DIRECTORY + "/new", JSON.stringify(found));
        renameSync(process.env.DIRECTORY + "/new", process.env.DIRECTORY + "/found");
      }, 10);`);
    const adapters = new URL("../../src/adapters", import.meta.url).href;
    const service = spawn(
      process.execPath,
      [
        "--input-type=module",
        "-e",
        `const { createTaskLauncher } = await import("${adapters}/operations/launcher.ts");
         const { exec } = await import("${adapters}/exec/index.ts");
         const { startDetached } = await import("${adapters}/exec/detached.ts");
         await createTaskLauncher({ exec, startDetached, stateDir: ${JSON.stringify(inDirectory())}, hasSystemd: () => false,
           program: { argv: [process.execPath, ${JSON.stringify(inDirectory("task.mjs"))}],
             environment: { DIRECTORY: ${JSON.stringify(inDirectory())} } } }).launch("a-1");
         process.kill(-process.pid, "SIGKILL");`,
      ],
      { stdio: "inherit", detached: true, env: { ...process.env, SECRET: "x" } },
    );
    await new Promise((resolve) => service.once("close", resolve));
    writeFileSync(inDirectory("go-on"), "");
    const found = JSON.parse(await until(() => contentOf(inDirectory("found"))));
    expect(found).toEqual({
      env: { DIRECTORY: inDirectory(), PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8" },
      cwd: "/",
      session: true,
    });
    expect(readFileSync(inDirectory("operations/a-1/output"), "utf8")).toBe("to the directory\n");
  });

  it("is reported when it cannot be started", async () => {
    mkdirSync(inDirectory("operations/a-1"), { recursive: true });
    const program = { argv: ["/nonexistent/node"] as const, environment: {} };
    const launcher = createTaskLauncher({
      exec,
      startDetached,
      stateDir: inDirectory(),
      program,
      hasSystemd: () => false,
    });
    await expect(launcher.launch("a-1")).rejects.toThrow(/cannot run \/nonexistent\/node/);
    await expect(launcher.launch("../a")).rejects.toThrow(/cannot start a task/);
  });
});
