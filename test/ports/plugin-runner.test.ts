import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import { createPluginRunner } from "#adapters/monitoring-plugin/index.ts";
import { directoryWith } from "./support/directories.ts";

const directory = directoryWith();
const path = (name: string): string => join(directory, name);
const plugin = (name: string, code: string): string => {
  writeFileSync(path(name), `#!${process.execPath}\n${code}`);
  chmodSync(path(name), 0o755);
  return path(name);
};

const says = plugin("says", "console.log(process.argv.slice(2).join('+')); console.error('hm'); process.exitCode = 1;");
const crashes = plugin("crashes", "process.kill(process.pid, 'SIGSEGV');");
writeFileSync(path("text"), "not a program\n", { mode: 0o644 });
writeFileSync(path("script"), "#!/nonexistent/interpreter\n", { mode: 0o755 });

const never = new AbortController().signal;
const real = createPluginRunner({ exec });

describe("monitoring plugins", () => {
  it("leave their output and their exit code", async () => {
    const left = { isEnded: true, exitCode: 1, stdout: "-w+5 %+$(id)\n", stderr: "hm\n", isCut: false };
    expect(await real.run([says, "-w", "5 %", "$(id)"], never)).toEqual(left);
  });

  it.each([
    [crashes, "was killed by SIGSEGV"],
    [path("text"), "may not be executed"],
    [path("missing"), "does not exist, or the interpreter in its first line does not"],
    [path("script"), "does not exist, or the interpreter in its first line does not"],
  ])("that leave nothing say why: %s", async (program, reason) => {
    expect(await real.run([program], never)).toEqual({ isEnded: false, reason });
  });

  it("are no longer started when nobody waits", async () => {
    const run = await real.run([says], AbortSignal.abort());
    expect(run).toEqual({ isEnded: false, reason: "cannot be run: cancelled" });
  });

  it("get an empty input and an environment without anything of ours", async () => {
    process.env["STEWARD_TEST_SECRET"] = "x";
    const look = plugin(
      "look",
      "console.log(JSON.stringify([process.env, process.cwd(), require('fs').readFileSync(0, 'utf8')]));",
    );
    const run = await real.run([look], never);
    const environment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8", HOME: "/nonexistent" };
    expect(run.isEnded && JSON.parse(run.stdout)).toEqual([environment, "/", ""]);
  });

  it("keep the start of a flood", async () => {
    const flood = plugin("flood", "process.stdout.write('x'.repeat(1_000_000));");
    const run = await real.run([flood], never);
    expect(run).toMatchObject({ isEnded: true, exitCode: 0, isCut: true });
    expect(run.isEnded && run.stdout).toBe("x".repeat(64 * 1024));
    const grumble = plugin("grumble", "process.stderr.write('x'.repeat(1_000_000)); console.log('OK');");
    expect(await real.run([grumble], never)).toMatchObject({ stdout: "OK\n", isCut: false });
  });

  it("that do not write UTF-8 are read all the same", async () => {
    const latin = plugin("latin", "process.stdout.write(Buffer.from([0x67, 0x72, 0xfc, 0x6e, 0x0a]));");
    expect(await real.run([latin], never)).toMatchObject({ stdout: "gr\ufffdn\n" });
  });

  it("are killed with what they started, even deaf to SIGTERM", async () => {
    const pids = path("pids");
    const deaf = plugin(
      "deaf",
      `process.on("SIGTERM", () => {});
       const child = require("child_process").spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], { stdio: "inherit" });
       require("fs").writeFileSync(${JSON.stringify(pids)}, process.pid + " " + child.pid);
       setInterval(() => {}, 1000);`,
    );
    const abort = new AbortController();
    const run = real.run([deaf], abort.signal);
    await expect.poll(() => readFileSync(pids, "utf8")).toMatch(/^\d+ \d+$/);
    abort.abort();
    expect(await run).toEqual({ isEnded: false, reason: "cannot be run: cancelled" });
    const isAlive = (pid: string): boolean => {
      try {
        return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
      } catch {
        return false;
      }
    };
    for (const pid of readFileSync(pids, "utf8").split(" ")) await expect.poll(() => isAlive(pid)).toBe(false);
  });
});
