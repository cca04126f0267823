import { expect, it } from "vitest";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import type { CheckSettings } from "../check.ts";
import { unitMemoryCheck } from "./unit-memory.ts";

const { signal } = new AbortController();
const gibibyte = 2 ** 30;
const root = "/sys/fs/cgroup";

interface Unit {
  readonly group: string;
  readonly used: number;
  readonly limit: number | "max";
  readonly oomKills: number;
}

/** A unit that uses half of its gigabyte, beside file caches. */
const unit = (given: Partial<Unit> = {}): Unit => ({
  group: "system.slice/app.service",
  used: gibibyte / 2,
  limit: gibibyte,
  oomKills: 0,
  ...given,
});

/** As the kernel's description of cgroup v2 has these files. */
function filesOf({ group, used, limit, oomKills }: Unit): Readonly<Record<string, string>> {
  const memory = `${root}/${group}/memory`;
  return {
    [`${memory}.current`]: `${used + 400_000_000}\n`,
    [`${memory}.max`]: `${limit}\n`,
    [`${memory}.events`]: `low 0\nhigh 0\nmax 12\noom 3\noom_kill ${oomKills}\noom_group_kill 0\n`,
    [`${memory}.stat`]: `anon ${used}\nfile 400000000\ninactive_file 250000000\nactive_file 140000000\nslab_reclaimable 10000000\n`,
  };
}

/** @param units undefined: memory is not counted by unit. */
function watch(units: readonly Unit[] | undefined) {
  const clock = createFakeClock();
  const files: Record<string, string> = {};
  const set = (all: readonly Unit[]): void => {
    for (const path of Object.keys(files)) delete files[path];
    Object.assign(files, { [`${root}/cgroup.controllers`]: "cpu io memory pids\n" }, ...all.map(filesOf));
  };
  if (units !== undefined) set(units);
  const check = unitMemoryCheck({ hostFiles: createFakeHostFiles(files), clock });
  const run = (settings: Partial<CheckSettings> = {}) => check.run({ ignore: [], ...settings }, signal);
  return { clock, set, files, run };
}

it("unit_memory looks at services and scopes below slices, by what the kernel cannot free at once", async () => {
  const { files, run } = watch([
    unit({ used: 600_000_000, limit: 1_073_741_824 }),
    unit({ group: "user.slice/user-1000.slice/session-1.scope", used: 5000, limit: 10_000 }),
  ]);
  files[`${root}/system.slice/memory.current`] = "9999999999\n";
  files[`${root}/init.scope/cgroup.procs`] = "1\n";
  files[`${root}/system.slice/app.service/below.service/memory.current`] = "9999999999\n";
  const { details } = await run({ warn: 1 });
  expect(details).toEqual({
    units: [
      { name: "app.service", used_bytes: 600_000_000, limit_bytes: 1_073_741_824, oom_kills_in_24_h: 0 },
      { name: "session-1.scope", used_bytes: 5000, limit_bytes: 10_000, oom_kills_in_24_h: 0 },
    ],
    units_with_limit_count: 2,
  });
});

it("unit_memory grades the memory of units within their limits, and skips without accounting", async () => {
  const { run } = watch([unit(), unit({ group: "system.slice/cron.service", limit: "max", oomKills: 3 })]);
  expect(await run()).toEqual({
    status: "pass",
    message: "No unit is short of memory",
    details: { units: [], units_with_limit_count: 1 },
  });
  const using = (share: number) => watch([unit({ used: Math.ceil(share * gibibyte) })]);
  expect(await using(0.89).run()).toMatchObject({ status: "pass" });
  expect(await using(0.9).run()).toMatchObject({
    status: "warn",
    message: "app.service uses 90 % of its limit of 1.0 GiB (MemoryMax=)",
    details: { units: [{ name: "app.service", limit_bytes: gibibyte, oom_kills_in_24_h: 0 }] },
  });
  expect(await using(0.97).run()).toMatchObject({ status: "fail" });
  expect(await using(0.5).run({ warn: 20, fail: 40 })).toMatchObject({ status: "fail" });
  expect(await using(0.97).run({ ignore: ["app.*"] })).toMatchObject({ status: "pass" });
  expect(await watch(undefined).run()).toMatchObject({ status: "skip" });
});

it("unit_memory warns for a day of an OOM kill since the last run", async () => {
  const { run, set, clock } = watch([unit({ oomKills: 2 })]);
  expect(await run()).toMatchObject({ status: "pass" });
  set([unit({ oomKills: 3 })]);
  const killed = { status: "warn", message: "the OOM killer killed 1 process of app.service" };
  expect(await run()).toMatchObject(killed);
  await clock.advance(23 * 3_600_000);
  expect(await run()).toMatchObject(killed);
  await clock.advance(3_600_000);
  expect(await run()).toMatchObject({ status: "pass" });
});

it("unit_memory counts OOM kills again after a restart of the unit", async () => {
  const { run, set } = watch([unit({ oomKills: 2 })]);
  await run();
  set([unit({ oomKills: 0 })]);
  expect(await run()).toMatchObject({ status: "pass" });
  set([unit({ oomKills: 1 }), unit({ group: "system.slice/new.service", oomKills: 2 })]);
  expect(await run()).toMatchObject({
    status: "warn",
    message: "the OOM killer killed 1 process of app.service; the OOM killer killed 2 processes of new.service",
  });
});
