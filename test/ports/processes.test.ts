import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createProcesses, readAllDeletedFiles, readOwners } from "#adapters/procfs/processes.ts";
import { ProcessGone } from "#domain/ports/processes.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { fakeProcess } from "../fakes/processes.ts";
import { directoryWith, writeFiles } from "./support/directories.ts";
import { holdFifo } from "./support/fifo.ts";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function startSleep() {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  children.push(child);
  const exit = once(child, "exit");
  await once(child, "spawn");
  return { pid: child.pid ?? 0, ended: async () => ((await exit) as unknown[])[1] };
}

describe("processes of this machine", () => {
  const processes = createProcesses({ clock: systemClock });

  it("are sampled and read alike", async () => {
    const { pid } = await startSleep();
    const { processes: all, spanMs } = await processes.sample();
    const sampled = all.find((each) => each.pid === pid);
    expect(sampled).toMatchObject({ name: "sleep", state: "sleeping", threads: 1, isKernelThread: false });
    expect(spanMs).toBeGreaterThan(0);
    const read = await processes.read(pid);
    const shown = sampled === undefined ? [] : [sampled];
    expect(await processes.units(shown)).toEqual(new Map([[pid, read?.unit]]));
    expect(await processes.users(shown)).toEqual(new Map([[pid, { user: read?.user, uid: read?.uid }]]));
    expect(read).toMatchObject({ pid, startTicks: sampled?.startTicks, startedAt: sampled?.startedAt });
    expect(await processes.commands([read ?? fakeProcess(1)])).toEqual(new Map([[pid, "sleep 1000"]]));
    expect(await processes.read(4_194_304)).toBeUndefined();
  });

  it("have deleted files open, each once, without memory, pipes and files that are called so", async () => {
    const dir = directoryWith();
    const program = `
import os, sys, time
spool = open("${dir}/spool", "wb")
spool.write(bytes(20000))
spool.flush()
os.dup(spool.fileno())
os.unlink("${dir}/spool")
kept = open("${dir}/kept (deleted)", "wb")
memory = os.memfd_create("memory")
print("ready", flush=True)
time.sleep(1000)
`;
    const child = spawn("python3", ["-c", program], { stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    await once(child.stdout, "data");
    const wanted = [fakeProcess(child.pid ?? 0), fakeProcess(4_194_304)];
    const found = await processes.deletedFiles(wanted);
    expect([...found]).toEqual([[child.pid, { count: 1, bytes: expect.any(Number), largest: join(dir, "spool") }]]);
    expect(found.get(child.pid ?? 0)?.bytes).toBeGreaterThanOrEqual(20_000);
    const all = await readAllDeletedFiles();
    expect([...all].find(([{ pid }]) => pid === child.pid)?.[1]).toEqual(found.get(child.pid ?? 0));
  });

  it("get signals, each the one that was meant", async () => {
    const { pid, ended } = await startSleep();
    const startTicks = (await processes.read(pid))?.startTicks ?? 0;
    for (const other of [
      { pid, startTicks: startTicks + 1 },
      { pid: 4_194_304, startTicks },
    ])
      await expect(processes.signal(other, "KILL")).rejects.toThrow(ProcessGone);
    await processes.signal({ pid, startTicks }, "TERM");
    expect(await ended()).toBe("SIGTERM");
    await expect(processes.signal({ pid, startTicks }, "TERM")).rejects.toThrow(ProcessGone);
  });

  it("have users by the directories in /proc, as root's side reports to the service", async () => {
    const owners = await readOwners();
    const uid = process.getuid?.() ?? 0;
    // Root's are left out.
    expect(owners.get(uid)?.some(({ pid }) => pid === process.pid) ?? false).toBe(uid !== 0);
  });
});

const procDir = directoryWith({
  passwd: "root:x:0:0::/root:/bin/sh\n",
  "self/uid_map": "         0          0          1\n       998        998          1\n",
  "sys/kernel/overflowuid": "0\n",
  stat: "cpu 1 2 3\nbtime 1700000000\n",
});
const passwd = join(procDir, "passwd");

/** A process of the user who runs the tests. */
function put(pid: number, { start = 100, ticks = 0, flags = 0, cgroup = "0::/\n", cmdline = "" } = {}): void {
  const rest = `S 1 1 1 0 -1 ${flags} 0 0 0 0 ${ticks} 0 0 0 20 0 1 0 ${start} 0 10 0`;
  const stat = `${pid} (worker) ${rest}\n`;
  writeFiles(procDir, { [`${pid}/stat`]: stat, [`${pid}/cgroup`]: cgroup, [`${pid}/cmdline`]: cmdline });
}

describe("samples of processes", () => {
  const clock = createFakeClock();
  const known = new Map([[7, 33]]);
  const processes = createProcesses({ clock, procDir, passwd, owners: () => Promise.resolve(known) });
  const percents = async () => {
    const { processes: all } = await processes.sample();
    return Object.fromEntries(all.map(({ pid, cpuPercent }) => [pid, Math.round(cpuPercent * 10) / 10]));
  };

  it("are compared with the one before, and shared for a second", async () => {
    put(1, { ticks: 10 });
    put(7, { ticks: 100, cgroup: "0::/system.slice/worker.service\n" });
    const first = percents();
    // The second one is taken after half a second.
    await expect.poll(clock.isSleptBy).toBe(true);
    put(7, { ticks: 125, cgroup: "0::/system.slice/worker.service\n" });
    await clock.advance(500);
    expect(await first).toEqual({ 1: 0, 7: 50 });
    put(7, { ticks: 225, cgroup: "0::/system.slice/worker.service\n" });
    await clock.advance(999);
    expect(await percents()).toEqual({ 1: 0, 7: 50 });
    await clock.advance(1);
    expect(await percents()).toEqual({ 1: 0, 7: 100 });
  });

  it("count a process that came since from its start, also where it has the number of one that ended", async () => {
    await clock.advance(2_000);
    put(7, { start: 900, ticks: 40, cgroup: "0::/system.slice/worker.service\n" });
    put(8, { start: 901, ticks: 200 });
    rmSync(join(procDir, "1"), { recursive: true });
    expect(await percents()).toEqual({ 7: 20, 8: 100 });
    // Process 1 is root's, and nobody can hide it alone.
    expect((await processes.sample()).hidesOthers).toBe(true);
  });

  it("have users that others know where they are hidden, and no threads of the kernel in units", async () => {
    put(9, { flags: 0x00200000, cgroup: "0::/system.slice/never.service\n" });
    await clock.advance(2_000);
    const { processes: all } = await processes.sample();
    const [units, users] = [await processes.units(all), await processes.users(all)];
    const shown = all.map(({ pid, isKernelThread }) => [pid, users.get(pid)?.user, units.get(pid), isKernelThread]);
    expect(shown).toEqual([
      [7, "33", "worker.service", false],
      [8, null, null, false],
      [9, null, null, true],
    ]);
  });

  it("have the same units for all who ask, until the next sample", async () => {
    const { processes: all } = await processes.sample();
    put(7, { start: 900, cgroup: "0::/system.slice/other.service\n" });
    put(57, { cgroup: "0::/system.slice/late.service\n" });
    expect((await processes.units(all)).get(7)).toBe("worker.service");
    expect((await processes.read(7))?.unit).toBe("other.service");
    await clock.advance(2_000);
    const { processes: next } = await processes.sample();
    rmSync(join(procDir, "57"), { recursive: true });
    const units = await processes.units(next);
    expect([units.get(7), units.has(57), (await processes.users(next)).has(57)]).toEqual([
      "other.service",
      false,
      false,
    ]);
  });

  it("leave out what has ended or cannot be read", async () => {
    mkdirSync(join(procDir, "55"));
    put(56);
    writeFileSync(join(procDir, "56/stat"), "");
    await clock.advance(2_000);
    expect(Object.keys(await percents())).toEqual(["7", "8", "9"]);
  });

  it("have command lines cut at 32 KiB, without the word that is cut", async () => {
    put(60, { cmdline: `a\0--token\0${"x".repeat(40_000)}\0` });
    const read = await processes.read(60);
    expect(await processes.commands([read ?? fakeProcess(60)])).toEqual(new Map([[60, "a --token"]]));
  });
});

it("command lines that cannot be read in time take no more than two reads from those of all other processes", async () => {
  const clock = createFakeClock();
  const pids = [70, 71, 72];
  const pathOf = (pid: number): string => join(procDir, `${pid}/cmdline`);
  const writers = pids.map((pid) => {
    put(pid);
    return holdFifo(pathOf(pid));
  });
  put(73, { cmdline: "sh\0" });
  const processes = createProcesses({ clock, procDir, passwd });
  const shown = processes.commands([fakeProcess(73), ...pids.map((pid) => fakeProcess(pid))]);
  /** Once the second pipe is read, 73 has been. The test itself has each open, too. */
  const readersOf = (pid: number): number =>
    readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === pathOf(pid);
      } catch {
        return false;
      }
    }).length - 1;
  await expect.poll(() => pids.map(readersOf)).toEqual([1, 1, 0]);
  await clock.advance(2_000);
  expect([...(await shown)]).toEqual([[73, "sh"]]);
  for (const writer of writers) closeSync(writer);
  expect([...(await processes.commands([fakeProcess(73)]))]).toEqual([[73, "sh"]]);
});
