import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const isRoot = process.getuid?.() === 0;
const user = "nobody";
const id = `request-${"0".repeat(32)}`;
if (!isRoot) process.stdout.write("skipped: requests to root: these tests start root's side, which takes root\n");

let dir: string;
let child: ChildProcess | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "steward-requests-"));
});
afterEach(() => {
  child?.kill("SIGKILL");
  child = undefined;
  rmSync(dir, { recursive: true });
});

/** Starts root's side as systemd does, with one end of a pair of sockets. */
function start(instance: string, settings = "{}") {
  const config = join(dir, "config.yaml");
  writeFileSync(config, settings);
  // The shell is replaced by the program, which so has the number that systemd would name.
  const line = 'LISTEN_PID=$$ exec "$0" "$@"';
  const started = spawn("sh", ["-c", line, process.execPath, main, "task", "run", "--asked-by", user, "--", instance], {
    env: {
      PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
      STEWARD_CONFIG: config,
      STEWARD_STATE_DIR: dir,
      LISTEN_FDS: "1",
      LISTEN_FDNAMES: "connection",
    },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  child = started;
  // A pipe beyond standard error is a socket in both directions.
  const socket = started.stdio[3] as unknown as Duplex;
  const ended = once(started, "exit").then(([code]) => code as unknown);
  const records = text(started.stdout as NonNullable<typeof started.stdout>);
  const stderr = text(started.stderr as NonNullable<typeof started.stderr>);
  const answer = text(socket).then((all) => (all === "" ? undefined : (JSON.parse(all) as unknown)));
  return { socket, ended, records, stderr, answer };
}

describe.skipIf(!isRoot)("the privileged side of a request", () => {
  const own = "1-2-65534";

  it("answers one request and ends", async () => {
    const { socket, ended, answer } = start(own);
    socket.write(`${JSON.stringify({ id, task: "checks.run", input: { check_ids: ["inode_usage"] } })}\n`);
    expect(await answer).toMatchObject({ output: { outcomes: { inode_usage: { status: expect.any(String) } } } });
    expect(await ended).toBe(0);
  });

  it("accepts the previous result of a check, whatever the names of its objects", async () => {
    const { socket, ended, answer } = start(own);
    const previous = { inode_usage: { status: "warn", objects: { "/a\nb": "warn" } } };
    socket.write(`${JSON.stringify({ id, task: "checks.run", input: { check_ids: ["inode_usage"], previous } })}\n`);
    expect(await answer).toMatchObject({ output: { outcomes: { inode_usage: { status: expect.any(String) } } } });
    expect(await ended).toBe(0);
  });

  it.each([
    ["garbage", own, "{\n", "expected a line of JSON"],
    ["an unknown task", own, `${JSON.stringify({ id, task: "shell.run", input: {} })}\n`, "it is not on the list"],
    [
      "input that the task does not take",
      own,
      `${JSON.stringify({ id, task: "packages.refresh", input: { a: 1 } })}\n`,
      "input must not have a",
    ],
    [
      "a malformed previous result",
      own,
      `${JSON.stringify({ id, task: "checks.run", input: { check_ids: [], previous: { memory: { status: "warn", objects: { "/\n": "bad" } } } } })}\n`,
      "previous",
    ],
    [
      "the connection of another user",
      "1-2-0",
      `${JSON.stringify({ id, task: "packages.refresh", input: {} })}\n`,
      "is not of user",
    ],
  ])("refuses %s, and records the refusal", async (_, instance, sent, why) => {
    const { socket, ended, answer, records } = start(instance);
    socket.write(sent);
    expect(await answer).toEqual({ error: expect.objectContaining({ message: expect.stringContaining(why) }) });
    expect(await ended).toBe(0);
    expect(await records).toContain('"phase":"refused"');
  });

  it("does nothing when the connection is closed without a request", async () => {
    const { socket, ended, records } = start(own);
    socket.end();
    expect(await ended).toBe(0);
    expect(await records).toContain('"phase":"left"');
  });

  it("stops its task when the connection ends", async () => {
    const { socket, ended, answer } = start(
      own,
      `health: { checks: { slow: { command: [/bin/sleep, "7653"], user: root, timeout: 1h } } }\n`,
    );
    socket.write(`${JSON.stringify({ id, task: "monitoring.run", input: { check_id: "slow" } })}\n`);
    const running = () => pidsOf("7653");
    await expect.poll(running).not.toBe("");
    socket.end();
    expect(await answer).toHaveProperty("output");
    expect(await ended).toBe(0);
    expect(await running()).toBe("");
  });
});

/** Which processes sleep for that long. */
async function pidsOf(seconds: string): Promise<string> {
  const found = spawn("pgrep", ["-fx", `/bin/sleep ${seconds}`], { stdio: ["ignore", "pipe", "inherit"] });
  return (await text(found.stdout)).trim();
}
