import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { readOffset } from "#domain/health/checks/clock-offset.ts";
import type { Clock } from "#kernel/clock.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakeHostFiles } from "../fakes/host-files.ts";
import { directoryPerTest } from "./support/directories.ts";

const { signal } = new AbortController();

interface Subject {
  readonly clock: Clock;
  readonly pass: (ms: number) => Promise<void>;
}

describe.each<[string, () => Subject]>([
  [
    "fake",
    () => {
      const clock = createFakeClock();
      return { clock, pass: clock.advance };
    },
  ],
  // A timer that is due later never comes before one that was due earlier, however busy the machine is.
  ["system", () => ({ clock: systemClock, pass: (ms) => systemClock.sleep(ms) })],
])("the %s clock", (_, make) => {
  it("continues, and never back", async () => {
    const { clock, pass } = make();
    const [now, mono] = [clock.now(), clock.monotonicMs()];
    await pass(20);
    // Timers of Node count in whole milliseconds.
    expect(clock.monotonicMs() - mono).toBeGreaterThan(18);
    expect(clock.now()).toBeGreaterThan(now);
  });

  it("sleeps also where that takes longer than a timer can, until it is woken", async () => {
    const { clock, pass } = make();
    const over = new AbortController();
    let isOver = false;
    const wait = clock.sleep(2 ** 40, over.signal).then(() => {
      isOver = true;
    });
    await pass(5);
    expect(isOver).toBe(false);
    over.abort();
    await wait;
    await clock.sleep(60_000, over.signal);
  });

  it("repeats a task until it is stopped", async () => {
    const { clock, pass } = make();
    let runs = 0;
    const stop = clock.every(10, () => {
      runs += 1;
    });
    while (runs < 2) await pass(10);
    stop();
    const seen = runs;
    await pass(15);
    expect(runs).toBe(seen);
  });
});

describe("the offset of the clock", () => {
  const installed = "/usr/sbin/chronyd";
  const missing = [
    ...(existsSync(installed) ? [] : [`${installed} (apt-get install chrony)`]),
    ...(process.getuid?.() === 0 ? [] : ["root"]),
  ];
  if (missing.length > 0)
    process.stdout.write(`skipped: the offset of a real chrony: missing: ${missing.join(", ")}\n`);
  describe.skipIf(missing.length > 0 && process.env["CI"] !== "true")("by a real chronyd", () => {
    const at = directoryPerTest();
    const started: ChildProcess[] = [];
    afterEach(async () => {
      for (const child of started.splice(0)) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const ended = once(child, "exit");
        child.kill("SIGKILL");
        await ended;
      }
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
      mkdirSync(at(name), { mode: 0o700 });
      const socket = at(name, "chronyd.sock");
      const settings = [...directives, "cmdport 0", `bindcmdaddress ${socket}`, `pidfile ${at(name, "pid")}`];
      writeFileSync(at(name, "chrony.conf"), `${settings.join("\n")}\n`);
      // A copy: the AppArmor profile of the program has it read the settings of the host alone.
      copyFileSync(installed, at(name, "chronyd"));
      const argv = ["-x", "-d", "-u", "root", "-f", at(name, "chrony.conf")];
      started.push(spawn(at(name, "chronyd"), argv, { stdio: "ignore" }));
      return socket;
    }
    const offsetAt = (socket: string) => {
      const asking: Exec = ([program, ...argv], options) => exec([program, "-h", socket, ...argv], options);
      return readOffset({ hostFiles: createFakeHostFiles({ "/run/chrony/chronyd.pid": "" }), exec: asking }, signal);
    };

    it.each([
      ["behind", 1500],
      ["ahead", -150],
    ])("is what chronyc says of a clock that is %s, once there is a source", async (_, expectedMs) => {
      const port = await freePort();
      startChrony("server", [`port ${port}`, "local stratum 5", "allow 127.0.0.1", "bindaddress 127.0.0.1"]);
      const source = `server 127.0.0.1 port ${port} iburst minpoll -4 maxpoll -4 offset ${expectedMs / 1000}`;
      const socket = startChrony("client", ["port 0", source]);
      // Two programs of a busy machine look at one clock, many times a second.
      const isNear = async () => {
        const { offsetMs } = (await offsetAt(socket)) ?? { offsetMs: Number.NaN };
        return Math.abs(offsetMs - expectedMs) < 100;
      };
      await expect.poll(isNear).toBe(true);
      expect(await offsetAt(socket)).toMatchObject({ program: "chrony", server: "127.0.0.1", stratum: 6 });
    });

    it("is undefined without a source", async () => {
      const socket = startChrony("client", ["port 0"]);
      const answers = async () => (await exec(["chronyc", "-h", socket, "-c", "tracking"], { signal })).exitCode;
      await expect.poll(answers).toBe(0);
      expect(await offsetAt(socket)).toBeUndefined();
    });
  });
});
