import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { CommandExited, execLines, type LinesOptions } from "./lines.ts";

const folder = mkdtempSync(join(tmpdir(), "steward-lines-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => void vi.useRealTimers());

/** Node itself stands in for a command. */
const script = (code: string, options?: LinesOptions) => execLines([process.execPath, "-e", code], options);

async function collect(lines: ReturnType<typeof execLines>): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const batch of lines)
    texts.push(...batch.map(({ bytes, isCut }) => `${bytes.toString()}${isCut ? " (cut)" : ""}`));
  return texts;
}

/** A process that has ended but that nobody has waited for yet does not count as alive. */
function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

/** A command with a child of its own that both never end; it prints both pids. */
const endless = `
  const { spawn } = require("child_process");
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  console.log(process.pid + " " + child.pid);
  setInterval(() => {}, 1000);`;

const pidsOf = (line: string | undefined): readonly number[] => (line ?? "").split(" ").map(Number);

describe("execLines", () => {
  it("yields every line, the last one without a newline too", async () => {
    expect(await collect(script('process.stdout.write("one\\n\\nthree ü\\nlast")'))).toEqual([
      "one",
      "",
      "three ü",
      "last",
    ]);
    expect(await collect(script(""))).toEqual([]);
  });

  it("yields a line when it comes, not when the command ends", async () => {
    const lines = script(endless);
    const { value } = await lines.next();
    const pids = pidsOf(value?.[0]?.bytes.toString());
    expect(pids.map(isAlive)).toEqual([true, true]);
    await lines.return();
    for (const pid of pids) await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("gives a command a fixed environment and nothing of ours", async () => {
    process.env["STEWARD_TEST_SECRET"] = "x";
    const [line = ""] = await collect(script("console.log(JSON.stringify([process.env, process.cwd()]))"));
    expect(JSON.parse(line)).toEqual([
      { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8", HOME: "/nonexistent" },
      "/",
    ]);
  });

  it("cuts a line that is too long and goes on with the next", async () => {
    const code = 'process.stdout.write("x".repeat(1000000) + "\\nshort\\n")';
    expect(await collect(script(code, { maxLineBytes: 10 }))).toEqual(["xxxxxxxxxx (cut)", "short"]);
  });

  it("slows the command down to the pace of its reader", async () => {
    const progress = join(folder, "progress");
    const code = `
      const fs = require("fs");
      const line = "x".repeat(65535) + "\\n";
      for (let written = 1; written <= 200; written += 1) {
        for (let from = 0; from < line.length; ) from += fs.writeSync(1, line.slice(from));
        fs.writeFileSync(${JSON.stringify(progress)}, String(written));
      }`;
    const lines = script(code);
    let count = 0;
    for await (const batch of lines) {
      count += batch.length;
      // What fits into the pipe and the read-ahead, and no more, however long nobody reads.
      const written = Number(existsSync(progress) ? readFileSync(progress, "utf8") : 0);
      expect(written - count).toBeLessThan(50);
      // A command that nothing slows down would run ahead.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(count).toBe(200);
  });

  it("ends with its signal, with the children of the command", async () => {
    const abort = new AbortController();
    const lines = script(endless, { signal: abort.signal });
    const { value } = await lines.next();
    const pids = pidsOf(value?.[0]?.bytes.toString());
    const next = lines.next();
    abort.abort();
    await expect(next).rejects.toThrow(/cancelled/);
    for (const pid of pids) await expect.poll(() => isAlive(pid)).toBe(false);
    await expect(collect(script("", { signal: abort.signal }))).rejects.toThrow(/cancelled/);
  });

  it("does not wait for a process that left the group and holds the output open", async () => {
    const code = `
      const child = require("child_process").spawn(process.execPath, ["-e", "setTimeout(() => {}, 1000000)"], { detached: true, stdio: "inherit" });
      console.log(child.pid);
      setInterval(() => {}, 1000);`;
    const abort = new AbortController();
    const lines = script(code, { signal: abort.signal });
    const { value } = await lines.next();
    const pid = Number(value?.[0]?.bytes.toString());
    abort.abort();
    await expect(lines.next()).rejects.toThrow(/cancelled/);
    expect(isAlive(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
  });

  it("ends when its time is over", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const lines = script("console.log(1); setInterval(() => {}, 1000)", { timeoutMs: 60_000 });
    await lines.next();
    vi.advanceTimersByTime(60_000);
    await expect(lines.next()).rejects.toThrow(/no end after 60000 ms/);
  });

  it("fails after the lines with the exit code and stderr", async () => {
    const lines = script('console.log("before"); console.error("went wrong\\nbecause"); process.exitCode = 3');
    const first = await lines.next();
    expect(first.value?.map(({ bytes }) => bytes.toString())).toEqual(["before"]);
    const failure = await lines.next().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CommandExited);
    expect(failure).toMatchObject({ exitCode: 3, stderr: "went wrong\nbecause\n" });
    expect(String(failure)).toMatch(/exit code 3: went wrong$/);
  });

  it("keeps a bounded part of stderr", async () => {
    const code = 'process.stderr.write("e".repeat(1000000), () => process.exit(1))';
    const failure = await collect(script(code)).catch((error: unknown) => error);
    expect(failure instanceof CommandExited && failure.stderr.length).toBe(65536);
  });

  it("leaves a command behind that cannot be killed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const caller = new AbortController();
    const pid = Promise.withResolvers<number>();
    const endlessAlone = "process.stdout.write('there\\n'); setInterval(() => {}, 1000)";
    const lines = script(endlessAlone, { signal: caller.signal, onStarted: pid.resolve });
    await lines.next();
    const kill = vi.spyOn(process, "kill").mockReturnValue(true);
    caller.abort();
    vi.advanceTimersByTime(2_000);
    await expect(lines.next()).rejects.toThrow("cancelled, and it cannot be killed");
    kill.mockRestore();
    process.kill(await pid.promise, "SIGKILL");
  });

  it("fails with the signal that killed the command, and when the program does not exist", async () => {
    await expect(collect(script("process.kill(process.pid, 'SIGTERM')"))).rejects.toThrow(/killed by SIGTERM/);
    await expect(collect(execLines(["/nonexistent/program"]))).rejects.toThrow(
      /cannot run \/nonexistent\/program: .*ENOENT/,
    );
  });
});
