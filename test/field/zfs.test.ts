import { expect, it } from "vitest";
import { judgeRecords } from "#domain/health/checks/filesystem-health.ts";
import { readPools, type ZfsPool } from "#domain/health/zpool.ts";
import type { RunProgram } from "#domain/ports/host-files.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakeHostFiles } from "../fakes/host-files.ts";
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
  const check = (pools: readonly ZfsPool[]) =>
    judgeRecords({ mounted: [], pools }, { ignore: [] }, createFakeClock().now());
  /** The files in which the kernel says what pools there are. */
  const kstat = (states: readonly (readonly [name: string, state: string])[]) =>
    createFakeHostFiles(
      Object.fromEntries(states.map(([name, state]) => [`/proc/spl/kstat/zfs/${name}/state`, state])),
    );

  it("every file is read below or has a reason why not", () => {
    const read = [...Object.keys(statuses), ...["pool1", "pool2", "poolz1"].map((name) => `kstat/${name}/state`)];
    expect(uncovered(files(), { read, unread })).toEqual([]);
  });

  it.each(Object.entries(statuses))("%s: state, errors, missing devices and the last scrub", async (file, expected) => {
    // Which pools there are is the kernel's to say.
    const hostFiles = kstat(expected.pools.map(({ name }) => [name, "ONLINE\n"]));
    const exec: RunProgram = (argv) => {
      const isText = !argv.includes("--json");
      return Promise.resolve({
        exitCode: isText ? 0 : 2,
        stdout: isText ? text(file) : "",
        stderr: "",
      });
    };
    const found = await readPools({ hostFiles, exec }, signal);
    const pools = found.toSorted((a, b) => a.name.localeCompare(b.name));
    expect(pools).toMatchObject(expected.pools.toSorted((a, b) => a.name.localeCompare(b.name)));
    expect(check(found).status).toBe(expected.status);
  });

  it("kstat: the states of three pools, of which one waits for its devices", async () => {
    const states = ["pool1", "pool2", "poolz1"].map((name) => [name, text("kstat", name, "state")] as const);
    const exec: RunProgram = () => Promise.reject(new Error("zpool may never answer"));
    const pools = await readPools({ hostFiles: kstat(states), exec }, signal);
    expect(new Map(pools.map(({ name, state }) => [name, state]))).toEqual(
      new Map([
        ["pool1", "ONLINE"],
        ["pool2", "SUSPENDED"],
        ["poolz1", "DEGRADED"],
      ]),
    );
    expect(check(pools)).toMatchObject({
      status: "fail",
      message: "pool2 is SUSPENDED (zpool status pool2); poolz1 is DEGRADED (zpool status poolz1)",
    });
  });
});
