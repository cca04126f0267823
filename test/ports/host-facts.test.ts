import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { hostname, release } from "node:os";
import type { Readable, Writable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createHostFacts } from "#adapters/procfs/index.ts";
import { SystemInfo } from "#contract/system.ts";
import { parseSwapTraffic } from "#domain/health/checks/swap-usage.ts";
import { createPartCheck, refuseFaults } from "#transports/http/validation.ts";

const real = createHostFacts({ clock: systemClock });
afterAll(real.dispose);

describe("host facts of this machine", () => {
  it("have the form of the contract, and figures that agree with each other", async () => {
    const info = await real.info();
    expect(() => refuseFaults([createPartCheck("body", SystemInfo)(info)])).not.toThrow();
    const { cpu, memory, disk } = info;
    expect(cpu.cores).toBeGreaterThan(0);
    expect(cpu.threads).toBeGreaterThanOrEqual(cpu.cores);
    expect(memory.available_bytes).toBeLessThanOrEqual(memory.total_bytes);
    const used = ((memory.total_bytes - memory.available_bytes) / memory.total_bytes) * 100;
    expect(memory.percent_used).toBeCloseTo(used, 0);
    expect(disk.free_bytes).toBeLessThanOrEqual(disk.total_bytes);
  });

  it("say how busy the kernel is", async () => {
    const { totalBytes, availableBytes, swapTotalBytes, swapFreeBytes } = await real.memory();
    expect(totalBytes).toBe((await real.info()).memory.total_bytes);
    expect(availableBytes).toBeLessThanOrEqual(totalBytes);
    expect(swapFreeBytes).toBeLessThanOrEqual(swapTotalBytes);
    const percent = await real.cpuPercent();
    expect(percent).toBeGreaterThanOrEqual(0);
    expect(percent).toBeLessThanOrEqual(100);
    expect(parseSwapTraffic(readFileSync("/proc/vmstat", "utf8"))).toBeGreaterThanOrEqual(0);
    expect(await real.zombies()).toBeInstanceOf(Array);
  });

  it("are what the system's own tools say", async () => {
    const info = await real.info();
    expect(info.hostname).toBe(hostname());
    expect(info.os.kernel).toBe(release());
    const [, blocks, , available, percent] =
      execFileSync("df", ["-B1", "-P", "/"], { encoding: "utf8" }).split("\n")[1]?.split(/\s+/) ?? [];
    expect(info.disk.total_bytes).toBe(Number(blocks));
    // Other programs write while this test runs.
    expect(Math.abs(info.disk.free_bytes - Number(available))).toBeLessThan(Number(blocks) / 100);
    // df rounds up to whole percents.
    expect(Math.abs(info.disk.percent_used - Number.parseInt(percent ?? "", 10))).toBeLessThanOrEqual(1.1);
    expect(info.cpu.threads).toBe(Number(execFileSync("nproc", { encoding: "utf8" })));
    const total = /^Mem:\s+(\d+)/m.exec(execFileSync("free", ["-b"], { encoding: "utf8" }))?.[1];
    expect(info.memory.total_bytes).toBe(Number(total));
  });

  it("name a zombie with its parent, and forget it when the parent has asked", async () => {
    // The shell starts a child and becomes a program that never asks for it. The child ends after that: the shell asks.
    const parent = spawn("sh", ["-c", "cat <&3 & echo $!; exec sleep infinity"], {
      stdio: ["ignore", "pipe", "ignore", "pipe"],
    });
    const [line] = await once(parent.stdout as Readable, "data");
    const pid = Number(String(line));
    await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
    (parent.stdio[3] as Writable).end();
    const find = async () => (await real.zombies()).find((each) => each.pid === pid);
    try {
      await expect.poll(find).toEqual({ pid, name: "cat", parentPid: parent.pid, parentName: "sleep" });
    } finally {
      parent.kill("SIGKILL");
      await once(parent, "exit");
    }
    await expect.poll(find).toBeUndefined();
  });
});
