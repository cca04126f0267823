import { expect, it } from "vitest";
import type { ProcessEntry } from "#contract/processes.ts";
import { byBreadth } from "../support/breadth.ts";
import { commandLineOn } from "./support/command-line.ts";
import { eventually } from "./support/eventually.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

/** What ps prints, by process id. */
interface Ps {
  readonly ppid: number;
  readonly user: string;
  readonly startedAt: number;
  readonly threads: number;
}

function parsePs(text: string): ReadonlyMap<number, Ps> {
  const rows = text
    .trim()
    .split("\n")
    .map((line) => {
      const [pid = "", ppid = "", user = "", threads = "", ...started] = line.trim().split(/\s+/);
      const startedAt = Date.parse(`${started.join(" ")} UTC`);
      return [Number(pid), { ppid: Number(ppid), user, threads: Number(threads), startedAt }] as const;
    });
  return new Map(rows);
}

/** The values of `ProtectProc=` that hide the processes of others. */
const hiding = ["noaccess", "invisible", "ptraceable"];

describeOnHost("processes are listed and get signals", (session) => {
  const { shell } = session;
  const list = async (query: object = {}): Promise<readonly ProcessEntry[]> =>
    (await session.api.listProcesses({ query: { limit: 10_000, ...query } })).processes;
  const pidsOf = async (command: string): Promise<readonly number[]> =>
    (await shell(command)).trim().split(/\s+/).map(Number);
  const mainPid = async (unit: string): Promise<number> => Number(await shell(`systemctl show -P MainPID ${unit}`));
  const send = async (pid: number, signal: "TERM" | "KILL" | "USR1" | "STOP" | "CONT", dryRun = false) => {
    // A list may be a second old, and not yet have what has just started.
    const found = await eventually(async () => {
      const [process] = await list({ pid });
      if (process === undefined) throw new Error(`process ${pid} is not listed`);
      return process;
    });
    return session.api.signalProcess({
      params: { pid },
      query: { dry_run: dryRun },
      body: { signal, start_time: found.start_time },
    });
  };

  it("as ps lists them", async () => {
    // Started is then what runs as its user: before, systemd's own program has its process.
    await session.writeUnits({
      "web.service": ["[Service]", "Type=exec", "User=www-data", "ExecStart=/bin/sleep infinity"],
    });
    await shell("systemctl start web cron");
    const ps = parsePs(await shell("TZ=UTC LC_ALL=C ps -eo pid=,ppid=,user:40=,nlwp=,lstart="));
    const all = await list();
    const compared = all.filter(({ pid }) => ps.has(pid));
    expect(compared.length).toBeGreaterThan(6);
    // A list may be a second old: what it does not have yet is in the next, or has ended.
    const missed = [...ps.keys()].filter((pid) => !all.some((each) => each.pid === pid));
    await eventually(async () => {
      const listed = new Set((await list()).map(({ pid }) => pid));
      const running = new Set(await pidsOf("ps -eo pid="));
      expect(missed.filter((pid) => running.has(pid) && !listed.has(pid))).toEqual([]);
    });
    expect(await list({ user: "www-data" })).toMatchObject([{ unit: "web.service", user: "www-data" }]);
    for (const { pid, ppid, user, unit, threads, start_time: start } of compared) {
      const theirs = ps.get(pid);
      // Threads of the service and of what it has root do come and go.
      const theirThreads = unit?.startsWith("steward") ? threads : theirs?.threads;
      expect([pid, ppid, user, threads]).toEqual([pid, theirs?.ppid, theirs?.user, theirThreads]);
      // ps counts back from now in whole seconds.
      expect(Math.abs(Date.parse(start) - (theirs?.startedAt ?? 0))).toBeLessThan(2_000);
    }
  });

  it("with the unit that systemd says, and the names that ps has trouble with", async () => {
    await session.writeUnits({
      "odd.service": ["[Service]", 'ExecStart=/bin/sh -c \'cp /bin/sleep "/run/od) R (d"; exec "/run/od) R (d" 1000\''],
      "secret.service": ["[Service]", "ExecStart=/bin/sh -c 'exec sleep infinity' --password=hunter2"],
    });
    await shell("systemctl start odd secret cron");
    await eventually(async () => {
      expect(await list({ unit: "odd" })).toMatchObject([{ name: "od) R (d", unit: "odd.service", user: "root" }]);
    });
    const [cron] = await list({ unit: "cron.service" });
    expect(cron?.pid).toBe(await mainPid("cron.service"));
    // What has just started is in init.scope for a moment, and a list may be a second old.
    await eventually(async () => {
      const listed = (await list()).filter((each) => !each.is_kernel_thread).slice(0, 10);
      const said = await shell(`ps -o pid=,unit= -p ${listed.map(({ pid }) => pid).join(",")}`);
      const theirs = new Map(said.split("\n").map((line) => line.trim().split(/\s+/) as [string, string]));
      for (const { pid, unit } of listed) {
        const named = theirs.get(String(pid)) ?? "-";
        if (named !== "-") expect([pid, unit]).toEqual([pid, named]);
      }
    });
    const { units } = await session.api.listProcesses({ query: { by_unit: true, limit: 1 } });
    expect(units?.find(({ unit }) => unit === "odd.service")).toMatchObject({ processes: 1, threads: 1 });
  });

  it("on a terminal, live: units first, and their processes where one is opened", async () => {
    const { atTerminal, inPipe } = commandLineOn(session);
    // The service takes the most memory of all.
    const words = ["top", "--sort", "memory", "--interval", "1"];
    const { output, code, left } = await atTerminal(words, {
      steps: [
        { wait: ">▸ steward.service", send: "\r" },
        { wait: ">▾ steward.service" },
        { wait: " steward  /opt", send: "\r" },
        { wait: ">▸ steward.service", send: "c" },
        { wait: "UNIT (by cpu)", send: "q" },
      ],
    });
    expect([left, code]).toEqual([[], 0]);
    // The terminal is given back as it was: its first page, its cursor, its lines.
    expect(output.startsWith("\u001b[?1049h\u001b[?25l\u001b[?7l")).toBe(true);
    expect(output.endsWith("\u001b[?7h\u001b[?25h\u001b[?1049l")).toBe(true);
    for (const screen of output.split("\u001b[H").slice(1)) expect(screen.split("\n").length).toBeLessThanOrEqual(24);
    const cut = await atTerminal(words, { columns: 40, steps: [{ wait: ">▸ steward", send: "\u0003" }] });
    expect([cut.left, cut.code, cut.output.endsWith("\u001b[?1049l")]).toEqual([[], 130, true]);
    const { stdout } = await inPipe(["top", "--sort", "memory"]);
    expect(stdout).toMatch(/^UNIT +PROCESSES +CPU % +MEMORY *\nsteward\.service +\d+ +\d+\.\d +\d+(\.\d)? MiB\n/m);
  });

  it("with the processor time that they take", async () => {
    await session.writeUnits({ "busy.service": ["[Service]", "ExecStart=/bin/sh -c 'while :; do :; done'"] });
    await shell("systemctl start busy");
    const pid = await mainPid("busy.service");
    const ticks = async (): Promise<number> => {
      const fields = (await shell(`cat /proc/${pid}/stat`)).split(") ")[1]?.split(" ") ?? [];
      return Number(fields[11]) + Number(fields[12]);
    };
    await list();
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const [from, at] = [await ticks(), Date.now()];
    const before = await list({ pid });
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const after = await list({ pid });
    const real = (((await ticks()) - from) * 1000) / (Date.now() - at);
    expect(before[0]?.cpu_percent).toBeGreaterThan(5);
    // The share of a processor that it got, on a machine that others use as well.
    expect(Math.abs((after[0]?.cpu_percent ?? 0) - real)).toBeLessThan(25);
    expect((await list({ sort: "cpu", limit: 3 })).map((each) => each.pid)).toContain(pid);
    await shell("systemctl stop busy");
  });

  it("with what they wrote to disks, which root's side knows, as the kernel counts it", async () => {
    const write = [
      ...["import os, time", "f = open('/srv/written', 'wb')", "f.write(bytes(32 << 20))"],
      ...["os.fsync(f.fileno())", "time.sleep(1000)"],
    ].join("; ");
    await session.writeUnits({
      "writer.service": [
        "[Service]",
        "User=www-data",
        "ExecStartPre=+/usr/bin/install -o www-data /dev/null /srv/written",
        `ExecStart=/usr/bin/python3 -c "${write}"`,
      ],
    });
    await shell("systemctl start writer");
    const pid = await mainPid("writer.service");
    await eventually(async () => {
      const theirs = await shell(`cat /proc/${pid}/io`);
      const [written = 0, read = 0] = ["write_bytes", "read_bytes"].map((key) =>
        Number(new RegExp(`^${key}: (\\d+)$`, "m").exec(theirs)?.[1]),
      );
      expect(written).toBeGreaterThanOrEqual(32 * 2 ** 20);
      const { processes: found, notes } = await session.api.listProcesses({ query: { sort: "io", limit: 10_000 } });
      expect(found.find((each) => each.pid === pid)?.io).toEqual({ read_bytes: read, written_bytes: written });
      const sums = found.map(({ io }) => (io === null ? -1 : io.read_bytes + io.written_bytes));
      expect(sums).toEqual(sums.toSorted((a, b) => b - a));
      // What has started since root was asked is not known yet.
      expect(notes.length).toBeLessThanOrEqual(1);
    });
    // Root is not asked by who wants something else.
    expect((await list({ pid }))[0]?.io).toBeNull();
    await shell("systemctl stop writer; rm /srv/written");
  });

  it("with the memory, state and command line that the kernel says", async () => {
    await session.writeUnits({
      "steady.service": [
        "[Service]",
        'ExecStart=/usr/bin/python3 -c "import time; a = bytearray(32 << 20); time.sleep(1000)" --flag "two words"',
      ],
    });
    await shell("systemctl start steady");
    const pid = await mainPid("steady.service");
    await eventually(async () => {
      const status = await shell(`cat /proc/${pid}/status`);
      const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
      expect(resident).toBeGreaterThan(32 * 2 ** 20);
      const [found] = await list({ pid });
      expect(Math.abs((found?.memory_bytes ?? 0) - resident)).toBeLessThan(2 ** 20);
      expect(status).toMatch(/^State:\tS \(sleeping\)$/m);
      const command = (await shell(`tr '\\0' ' ' </proc/${pid}/cmdline`)).trim();
      expect([found?.state, found?.command]).toEqual(["sleeping", command]);
    });
    await shell("systemctl stop steady");
  });

  it("and a signal arrives, at the process that was meant alone", async () => {
    await session.writeUnits({
      "listens.service": [
        "[Service]",
        "Restart=always",
        'ExecStart=/bin/sh -c \'trap "touch /run/got-usr1" USR1; trap "touch /run/got-term; exit 0" TERM; while :; do sleep 0.1; done\'',
      ],
    });
    await shell("systemctl start listens");
    const pid = await mainPid("listens.service");
    expect(await send(pid, "TERM", true)).toMatchObject({
      units: ["listens.service"],
      reason: expect.stringContaining("Restart=always"),
    });
    expect(await send(pid, "USR1")).toMatchObject({ success: true, has_ended: false, unit: "listens.service" });
    await eventually(() => shell("test -e /run/got-usr1"));
    await send(pid, "STOP");
    await eventually(async () => expect((await list({ pid }))[0]?.state).toBe("stopped"));
    await send(pid, "CONT");
    expect(await send(pid, "TERM")).toMatchObject({ has_ended: true });
    await shell("test -e /run/got-term");
    const other = await eventually(async () => {
      const now = await mainPid("listens.service");
      expect([0, pid]).not.toContain(now);
      return now;
    });
    const wrong = { params: { pid: other }, body: { signal: "KILL", start_time: "2020-01-01T00:00:00Z" } } as const;
    expect(await refusal(session.api.signalProcess(wrong))).toMatchObject({ status: 409 });
    expect(await mainPid("listens.service")).toBe(other);
  });

  it("all of them also where the host hides those of others from its users", async () => {
    await shell("mount -o remount,hidepid=invisible /proc");
    await session.service.restart();
    const { is_complete: isComplete, processes } = await session.api.listProcesses({ query: { limit: 10_000 } });
    expect(isComplete).toBe(true);
    expect(processes).toContainEqual(expect.objectContaining({ pid: 1, user: "root" }));
    expect(processes.map(({ unit }) => unit)).toContain("dbus.service");
    await shell("mount -o remount,hidepid=off /proc");
  });

  it.each(byBreadth(hiding.slice(1, 2), hiding))("and it says where its own unit hides them (%s)", async (hides) => {
    await session.writeUnits({ "steward.service.d/hides.conf": ["[Service]", `ProtectProc=${hides}`] });
    await session.service.restart();
    const { is_complete: isComplete, notes, processes } = await session.api.listProcesses({ query: { limit: 10_000 } });
    await session.writeUnits({ "steward.service.d/hides.conf": [] });
    expect(isComplete).toBe(false);
    expect(notes).toContainEqual(expect.stringContaining("ProtectProc="));
    expect(processes.map(({ unit }) => unit)).toEqual(processes.map(() => "steward.service"));
    await session.service.restart();
    expect(await session.api.listProcesses()).toMatchObject({ is_complete: true });
  });

  it("and none is sent where it must not be, with the reason", async () => {
    const reasons: Record<string, string> = {};
    const targets = {
      init: 1,
      dbus: await mainPid("dbus.service"),
      logind: await mainPid("systemd-logind.service"),
      service: await session.service.pid(),
    };
    for (const [name, pid] of Object.entries(targets).filter((each) => each[1] > 0)) {
      const refused = await refusal(send(pid, "KILL"));
      expect([name, refused]).toMatchObject([name, { status: 400 }]);
      reasons[name] = refused?.message ?? "";
    }
    process.stdout.write(`${Object.values(reasons).join("\n")}\n`);
    expect(reasons).toMatchObject({
      init: expect.stringContaining("first process"),
      dbus: expect.stringContaining("system bus"),
      service: expect.stringContaining("this service"),
    });
  });
});
