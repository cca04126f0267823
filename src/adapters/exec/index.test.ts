import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { exec } from "./index.ts";

afterEach(() => void vi.useRealTimers());
/** The timers of `exec`: a test says when its time is over. */
const stopTime = () => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });

/** Node itself stands in for a command: it is there, and it can be made to do anything. */
const script = (code: string, options?: Parameters<typeof exec>[1]) => exec([process.execPath, "-e", code], options);

describe("exec", () => {
  it("returns exit code and both outputs", async () => {
    expect(await script('process.stdout.write("out ü"); process.stderr.write("err"); process.exitCode = 3')).toEqual({
      exitCode: 3,
      stdout: "out ü",
      stderr: "err",
      truncated: false,
    });
  });

  it("passes arguments as they are: there is no shell", async () => {
    const hostile = ["$(touch x)", "`id`", ";", "a b", "*", "'", '"', "\n", "--"];
    const { stdout } = await exec([
      process.execPath,
      "-e",
      "console.log(JSON.stringify(process.argv.slice(1)))",
      "--",
      ...hostile,
    ]);
    expect(JSON.parse(stdout)).toEqual(hostile);
  });

  it("gives a command a fixed environment and nothing of ours", async () => {
    process.env["STEWARD_TEST_SECRET"] = "x";
    const { stdout } = await script("console.log(JSON.stringify([process.env, process.cwd()]))");
    expect(JSON.parse(stdout)).toEqual([
      { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8", HOME: "/nonexistent" },
      "/",
    ]);
  });

  it("passes on the input and working directory, and accepts a command that does not read its input", async () => {
    const read = 'console.log(JSON.stringify([process.cwd(), require("fs").readFileSync(0, "utf8")]))';
    expect(JSON.parse((await script(read, { input: "line\nü", cwd: "/usr" })).stdout)).toEqual(["/usr", "line\nü"]);
    expect(JSON.parse((await script(read)).stdout)).toEqual(["/", ""]);
    expect(await script("process.exitCode = 4", { input: "x".repeat(1_000_000) })).toMatchObject({ exitCode: 4 });
    const closes = 'require("fs").closeSync(0); setTimeout(() => console.log("done"), 50)';
    expect(await script(closes, { input: "x".repeat(1_000_000) })).toMatchObject({ exitCode: 0, stdout: "done\n" });
  });

  it("caps output and says so", async () => {
    const { stdout, truncated } = await script('process.stdout.write("x".repeat(100000))', { maxOutputBytes: 1000 });
    expect([stdout.length, truncated]).toEqual([1000, true]);
  });

  it("kills a command that takes too long, with its children", async () => {
    const directory = mkdtempSync(join(tmpdir(), "steward-exec-"));
    const pidFile = join(directory, "pid");
    const code =
      'if (my $pid = fork) { open F, ">", "$ARGV[0].new"; print F $pid; close F; rename "$ARGV[0].new", $ARGV[0]; waitpid $pid, 0 } else { sleep 1000 }';
    stopTime();
    const running = exec(["/usr/bin/perl", "-e", code, pidFile], { timeoutMs: 60_000 });
    await expect.poll(() => existsSync(pidFile)).toBe(true);
    vi.advanceTimersByTime(60_000);
    await expect(running).rejects.toThrow(/no end after 60000 ms/);
    const pid = Number(readFileSync(pidFile, "utf8"));
    await expect.poll(() => isAlive(pid)).toBe(false);
    rmSync(directory, { recursive: true });
  });

  it("does not wait for a child that has left the group and holds the outputs", async () => {
    const spawned = `require("child_process").spawn("/usr/bin/sleep", ["1000"], { detached: true, stdio: "inherit" })`;
    const code = `process.stdout.write(String(${spawned}.pid)); setInterval(() => {}, 1000)`;
    const pid = Promise.withResolvers<number>();
    stopTime();
    const running = script(code, { timeoutMs: 60_000, onOutput: (chunk) => pid.resolve(Number(chunk)) });
    const child = await pid.promise;
    vi.advanceTimersByTime(60_000);
    await expect(running).rejects.toThrow(/no end after 60000 ms/);
    expect(isAlive(child)).toBe(true);
    process.kill(child, "SIGKILL");
  });

  it("leaves a command behind that cannot be killed, and names its process", async () => {
    stopTime();
    const [left, started] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
    const running = script("process.stdout.write('there'); setInterval(() => {}, 1000)", {
      timeoutMs: 60_000,
      onOutput: () => started.resolve(),
      onLeft: left.resolve,
    });
    await started.promise;
    // As with one that waits in the kernel for a file system: the signal does nothing.
    const kill = vi.spyOn(process, "kill").mockReturnValue(true);
    vi.advanceTimersByTime(60_000);
    vi.advanceTimersByTime(2_000);
    await expect(running).rejects.toThrow("no end after 60000 ms, and it cannot be killed");
    kill.mockRestore();
    const pid = await left.promise;
    expect(isAlive(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
  });

  it("ends with its signal, and fails when the program does not exist", async () => {
    const abort = new AbortController();
    const running = script("setInterval(() => {}, 1000)", { signal: abort.signal });
    abort.abort();
    await expect(running).rejects.toThrow(/cancelled/);
    await expect(script("", { signal: abort.signal })).rejects.toThrow(/cancelled/);
    await expect(exec(["/nonexistent/program"])).rejects.toMatchObject({
      message: expect.stringMatching(/^cannot run \/nonexistent\/program: .*ENOENT/),
      cause: { code: "ENOENT" },
    });
  });
});

/** A process that has ended but that nobody has waited for yet does not count as alive. */
function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}
