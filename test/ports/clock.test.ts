import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { createClockOffsets } from "#adapters/time-daemons/index.ts";
import type { Clock } from "#kernel/clock.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { directoryPerTest } from "./support/directories.ts";
import { printing } from "./support/programs.ts";

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
  it("goes on, and never back", async () => {
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
  const nowhere = { chrony: "/nonexistent", timesync: "/nonexistent", ntp: "/nonexistent", ntpOfSuse: "/nonexistent" };
  const here = "/proc/self";
  const tracking = "C0000201,192.0.2.1,3,1767258000.5,0.002,0,0,0,0,0,0,0,64,Normal\n";
  /** Of the program that is said to run, where programs print this, by their last argument. */
  const offsets = (place: Partial<typeof nowhere>, answers: Readonly<Record<string, string>> = { tracking }) =>
    createClockOffsets({
      exec: (argv) => printing(answers[argv.at(-1) ?? ""] ?? "")(argv),
      paths: { ...nowhere, ...place },
    });

  it("is asked of chronyd, timesyncd or ntpd, whichever runs", async () => {
    const found = { server: "192.0.2.1", offsetMs: 2, stratum: 3, answeredAt: 1_767_258_000_500 };
    expect(await offsets({ chrony: here }).canRead()).toBe(true);
    expect(await offsets({ chrony: here }).read(signal)).toEqual({ program: "chrony", ...found });
    expect([await offsets({}).canRead(), await offsets({}).read(signal)]).toEqual([false, undefined]);
    const data = [0, 4, 4, 2, 0, 0, 0, [], 1000, 3000, 3000, 1000, false, 1, 0];
    const answers = {
      NTPMessage: JSON.stringify({ type: "(uuuuittayttttbtt)", data }),
      ServerName: JSON.stringify({ type: "s", data: "ntp.example.org" }),
      rv: "stratum=2, refid=192.0.2.9, offset=4.5",
    };
    expect(await offsets({ timesync: here }, answers).read(signal)).toEqual({
      ...{ program: "systemd-timesyncd", server: "ntp.example.org", offsetMs: 2, stratum: 2, answeredAt: 1 },
    });
    for (const place of ["ntp", "ntpOfSuse"])
      expect(await offsets({ [place]: here }, answers).read(signal)).toMatchObject({ program: "ntpd", offsetMs: 4.5 });
    // A directory that chronyd has left behind.
    const left: Exec = (argv) =>
      printing(answers.rv, argv[0] === "chronyc" ? { exitCode: 1, stderr: "506 Cannot talk to daemon" } : {})(argv);
    const both = createClockOffsets({ exec: left, paths: { ...nowhere, chrony: here, ntp: here } });
    expect(await both.read(signal)).toMatchObject({ program: "ntpd", offsetMs: 4.5 });
  });

  it.each(["oops", "{}", "stratum=2, offset=nan", tracking.replace("0.002", "nan")])(
    "is an error, and not that of a clock in order, where the program answers %j",
    async (text) => {
      for (const [name, program] of Object.entries({ chrony: "chrony", timesync: "systemd-timesyncd", ntp: "ntpd" }))
        await expect(
          offsets({ [name]: here }, { tracking: text, NTPMessage: text, rv: text }).read(signal),
        ).rejects.toThrow(`cannot read what ${program} says`);
    },
  );

  it.each<[string, "chrony" | "ntp", Exec]>([
    ["ntpq reaches nobody, which is no error to it", "ntp", printing("", { stderr: "ntpq: Connection refused\n" })],
    ["chronyc is not installed", "chrony", (_, options) => exec(["/nonexistent/chronyc"], options)],
    ["chronyd does not answer", "chrony", printing("", { exitCode: 1, stderr: "506 Cannot talk" })],
  ])("is undefined where %s", async (_, name, asking) => {
    const paths = { ...nowhere, [name]: here };
    expect(await createClockOffsets({ exec: asking, paths }).read(signal)).toBeUndefined();
  });

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
    const offsetsAt = (socket: string) => {
      const asking: Exec = ([program, ...argv], options) => exec([program, "-h", socket, ...argv], options);
      return createClockOffsets({ exec: asking, paths: { ...nowhere, chrony: socket } });
    };

    it.each([
      ["behind", 1500],
      ["ahead", -150],
    ])("is what chronyc says of a clock that is %s, once there is a source", async (_, expectedMs) => {
      const port = await freePort();
      startChrony("server", [`port ${port}`, "local stratum 5", "allow 127.0.0.1", "bindaddress 127.0.0.1"]);
      const source = `server 127.0.0.1 port ${port} iburst minpoll -4 maxpoll -4 offset ${expectedMs / 1000}`;
      const real = offsetsAt(startChrony("client", ["port 0", source]));
      // Two programs of a busy machine look at one clock, many times a second.
      const isNear = async () => {
        const { offsetMs } = (await real.read(signal)) ?? { offsetMs: Number.NaN };
        return Math.abs(offsetMs - expectedMs) < 100;
      };
      await expect.poll(isNear).toBe(true);
      expect(await real.read(signal)).toMatchObject({ program: "chrony", server: "127.0.0.1", stratum: 6 });
    });

    it("is undefined without a source", async () => {
      const socket = startChrony("client", ["port 0"]);
      const answers = async () => (await exec(["chronyc", "-h", socket, "-c", "tracking"], { signal })).exitCode;
      await expect.poll(answers).toBe(0);
      const real = offsetsAt(socket);
      expect([await real.canRead(), await real.read(signal)]).toEqual([true, undefined]);
    });
  });
});
