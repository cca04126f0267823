import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { createClockOffsets } from "#adapters/time-daemons/index.ts";

const installed = "/usr/sbin/chronyd";
const missing = [
  ...(existsSync(installed) ? [] : [`${installed} (apt-get install chrony)`]),
  ...(process.getuid?.() === 0 ? [] : ["root"]),
];
if (missing.length > 0) process.stdout.write(`skipped: the offset of a real chrony: missing: ${missing.join(", ")}\n`);
const isSkipped = missing.length > 0 && process.env["CI"] !== "true";

let folder: string;
let started: ChildProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "chrony-"));
  started = [];
});
afterEach(async () => {
  for (const child of started) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
  rmSync(folder, { recursive: true });
});

async function freePort(): Promise<number> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  return port;
}

/** Runs a chronyd that never sets the clock. @returns where it is asked. */
function startChrony(name: string, directives: readonly string[]): string {
  const own = join(folder, name);
  mkdirSync(own, { mode: 0o700 });
  const socket = join(own, "chronyd.sock");
  const settings = [...directives, "cmdport 0", `bindcmdaddress ${socket}`, `pidfile ${join(own, "pid")}`];
  const file = join(own, "chrony.conf");
  writeFileSync(file, `${settings.join("\n")}\n`);
  // A copy: the AppArmor profile of the program has it read the settings of the host alone.
  const program = join(own, "chronyd");
  copyFileSync(installed, program);
  started.push(spawn(program, ["-x", "-d", "-u", "root", "-f", file], { stdio: "ignore" }));
  return socket;
}

describe.skipIf(isSkipped)("the offset of a clock that chrony watches", () => {
  it.each([
    ["behind", 1500],
    ["ahead", -150],
    ["right", 0],
  ])("that is %s is what chronyc says, once there is a source", async (_, expectedMs) => {
    const port = await freePort();
    startChrony("server", [`port ${port}`, "local stratum 5", "allow 127.0.0.1", "bindaddress 127.0.0.1"]);
    const source = `server 127.0.0.1 port ${port} iburst minpoll -4 maxpoll -4 offset ${expectedMs / 1000}`;
    const socket = startChrony("client", ["port 0", source]);
    const asking: Exec = ([program, ...argv], options) => exec([program, "-h", socket, ...argv], options);
    const paths = { chrony: socket, timesync: "/nonexistent", ntp: "/nonexistent" };
    const offsets = createClockOffsets({ exec: asking, paths });
    const { signal } = new AbortController();
    // Two programs of a busy machine look at one clock, many times a second.
    const isNear = async () => {
      const { offsetMs } = (await offsets.read(signal)) ?? { offsetMs: Number.NaN };
      return Math.abs(offsetMs - expectedMs) < 100;
    };
    await expect.poll(isNear).toBe(true);
    expect(await offsets.read(signal)).toMatchObject({ program: "chrony", server: "127.0.0.1", stratum: 6 });
  });

  it("is not known without a source", async () => {
    const socket = startChrony("client", ["port 0"]);
    const asking: Exec = ([program, ...argv], options) => exec([program, "-h", socket, ...argv], options);
    const offsets = createClockOffsets({
      exec: asking,
      paths: { chrony: socket, timesync: "/nonexistent", ntp: "/nonexistent" },
    });
    const { signal } = new AbortController();
    const answers = async () => (await exec(["chronyc", "-h", socket, "-c", "tracking"], { signal })).exitCode;
    await expect.poll(answers).toBe(0);
    expect(await offsets.canRead()).toBe(true);
    expect(await offsets.read(signal)).toBeUndefined();
  });
});
