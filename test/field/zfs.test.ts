import { expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createFileSystemHealth } from "#adapters/file-system-health/index.ts";
import { filesystemHealthCheck } from "#domain/health/checks/filesystem-health.ts";
import type { FileSystemHealth, ZfsPool } from "#domain/ports/storage.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakeFileSystems } from "../fakes/file-systems.ts";
import { directoryPerTest, writeFiles } from "../ports/support/directories.ts";
import { describeCases, uncovered } from "./cases.ts";

const { signal } = new AbortController();
const whole: Partial<ZfsPool> = { state: "ONLINE", errors: {}, missingDevices: 0, scrub: null };
const local = (time: string): number => Date.parse(time);

/** The pools of each text, and what the check says. */
const statuses: Readonly<
  Record<string, { readonly pools: readonly (Partial<ZfsPool> & Pick<ZfsPool, "name">)[]; readonly status: string }>
> = {
  "status-text-degraded-mirror.txt": {
    pools: [{ ...whole, name: "tank", state: "DEGRADED", missingDevices: 1 }],
    status: "fail",
  },
  // Its authors have cut out when the scrub ended; the spare is free.
  "status-text-spares.txt": { pools: [{ ...whole, name: "tank" }], status: "pass" },
  "status-text-three-pools-freebsd.txt": {
    pools: [
      // Cancelled.
      { ...whole, name: "zhgstera6" },
      { ...whole, name: "zint500", scrub: { endedAt: local("Tue Aug 16 00:20:50 2022"), unrepaired: 0 } },
      { ...whole, name: "zsam53", scrub: { endedAt: local("Mon Aug 15 01:26:46 2022"), unrepaired: 0 } },
    ],
    status: "pass",
  },
};

const list = "zpool status says the same and more: zpool list is not asked";
const unread = {
  "zpool-list-vdev-logs-cache.txt": list,
  "zpool-list-vdev.txt": list,
  "zpool-list.txt": list,
};

describeCases("zfs", ({ text, files }) => {
  const dir = directoryPerTest();
  const check = (fileSystemHealth: FileSystemHealth) =>
    filesystemHealthCheck({ fileSystems: createFakeFileSystems([]), fileSystemHealth, clock: createFakeClock() }).run(
      { ignore: [] },
      signal,
    );

  it("every file is read below or has a reason why not", () => {
    const read = [...Object.keys(statuses), ...["pool1", "pool2", "poolz1"].map((name) => `kstat/${name}/state`)];
    expect(uncovered(files(), { read, unread })).toEqual([]);
  });

  it.each(Object.entries(statuses))("%s: state, errors, missing devices and the last scrub", async (file, expected) => {
    // Which pools there are is the kernel's to say.
    for (const { name } of expected.pools) writeFiles(dir(), { [`spl/kstat/zfs/${name}/state`]: "ONLINE\n" });
    const exec: Exec = (argv) => {
      const isText = !argv.includes("--json");
      return Promise.resolve({
        exitCode: isText ? 0 : 2,
        stdout: isText ? text(file) : "",
        stderr: "",
        truncated: false,
      });
    };
    const health = createFileSystemHealth({ exec, procDir: dir() });
    const pools = (await health.pools(signal)).toSorted((a, b) => a.name.localeCompare(b.name));
    expect(pools).toMatchObject(expected.pools.toSorted((a, b) => a.name.localeCompare(b.name)));
    expect((await check(health)).status).toBe(expected.status);
  });

  it("kstat: the states of three pools, of which one waits for its devices", async () => {
    const states = ["pool1", "pool2", "poolz1"].map((name) => [name, text("kstat", name, "state")] as const);
    for (const [name, state] of states) writeFiles(dir(), { [`spl/kstat/zfs/${name}/state`]: state });
    const exec: Exec = () => Promise.reject(new Error("zpool may never answer"));
    const health = createFileSystemHealth({ exec, procDir: dir() });
    const pools = await health.pools(signal);
    expect(new Map(pools.map(({ name, state }) => [name, state]))).toEqual(
      new Map([
        ["pool1", "ONLINE"],
        ["pool2", "SUSPENDED"],
        ["poolz1", "DEGRADED"],
      ]),
    );
    expect(await check(health)).toMatchObject({
      status: "fail",
      message: "pool2 is SUSPENDED (zpool status pool2); poolz1 is DEGRADED (zpool status poolz1)",
    });
  });
});
