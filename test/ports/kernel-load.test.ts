import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createHostFacts } from "#adapters/procfs/index.ts";
import { createKernelLoad } from "#adapters/procfs/kernel-load.ts";
import type { KernelLoad } from "#domain/ports/host.ts";
import { createFakeKernelLoad } from "../fakes/kernel-load.ts";

const host = createHostFacts({ clock: systemClock });
afterAll(host.dispose);
const real = createKernelLoad({ cpuLoad: host.cpuLoad });

describe.each([
  ["fake", createFakeKernelLoad()],
  ["procfs", real],
] as const)("kernel load: %s", (_, kernel: KernelLoad) => {
  it("has figures that agree with each other", async () => {
    const { totalBytes, availableBytes, swapTotalBytes, swapFreeBytes } = await kernel.memory();
    expect(totalBytes).toBeGreaterThan(0);
    expect(availableBytes).toBeLessThanOrEqual(totalBytes);
    expect(swapFreeBytes).toBeLessThanOrEqual(swapTotalBytes);
    const { used, maximum } = await kernel.fileHandles();
    expect(used).toBeGreaterThan(0);
    expect(used).toBeLessThanOrEqual(maximum);
    const percent = await kernel.cpuPercent();
    expect(percent).toBeGreaterThanOrEqual(0);
    expect(percent).toBeLessThanOrEqual(100);
    expect(await kernel.zombies()).toBeInstanceOf(Array);
  });
});

describe("kernel load of this machine", () => {
  it("has the memory that the host facts have", async () => {
    const { memory } = await host.info();
    expect((await real.memory()).totalBytes).toBe(memory.total_bytes);
  });

  it("names a zombie with its parent, and forgets it when the parent has asked", async () => {
    // The shell starts a child and becomes a program that never asks for it.
    const parent = spawn("sh", ["-c", "sleep 0 & echo $!; exec sleep infinity"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [line] = await once(parent.stdout, "data");
    const pid = Number(String(line));
    const find = async () => (await real.zombies()).find((each) => each.pid === pid);
    try {
      await expect
        .poll(find, { timeout: 10_000 })
        .toEqual({ pid, name: "sleep", parentPid: parent.pid, parentName: "sleep" });
    } finally {
      parent.kill("SIGKILL");
      await once(parent, "exit");
    }
    await expect.poll(find, { timeout: 10_000 }).toBeUndefined();
  });
});
