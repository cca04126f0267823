import { expect, it } from "vitest";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { Check, Outcome, PreviousGrades } from "#domain/health/check.ts";
import type { Fix } from "#domain/health/fix.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import { FileSystemsUnseen } from "#domain/ports/storage.ts";
import { unitFileVerbs } from "#domain/ports/units.ts";
import { createFakeClock } from "../../test/fakes/clock.ts";
import { createFakePackageManager, fakePackage } from "../../test/fakes/package-manager.ts";
import { createFakeProcesses, fakeProcess } from "../../test/fakes/processes.ts";
import { createFakeUnits } from "../../test/fakes/units.ts";
import { processesThroughRoot } from "./processes-through-root.ts";
import type { RequestRoot, RootFix } from "./request.ts";
import { healthThroughRoot, managerThroughRoot, snapshotsThroughRoot, unitsThroughRoot } from "./through-root.ts";

const never = new AbortController().signal;
const settings = { ignore: [] };
const here: Outcome = { status: "pass", message: "here", details: {} };
/** The sandbox of the service hides a file system of the host from it. */
const hidden = (id: string, fixes: readonly string[] = []): Check => ({
  ...check(id, fixes),
  run: () => Promise.reject(new FileSystemsUnseen("/tmp")),
});
const check = (id: string, fixes: readonly string[] = []): Check => ({
  id,
  name: id,
  category: "system",
  severity: "low",
  fixes,
  run: () => Promise.resolve(here),
});

/** Answers with what there is for each name, and remembers what it was asked. */
function asker(answers: Readonly<Record<string, unknown>>) {
  const asked: [string, unknown][] = [];
  const request: RequestRoot = async (name, input) => {
    asked.push([name, input]);
    await Promise.resolve();
    // The test says what root answers.
    return answers[name] as never;
  };
  return { request, asked, root: { request, openFix: () => Promise.reject<RootFix>(new Error("not here")) } };
}

const outcome = (message: string): Outcome => ({ status: "warn", message, details: {} });
const outcomes = { disk_space: outcome("disk"), firewall: outcome("fire") };

it("asks root at once for all checks that are asked for together, and again for whoever asks later", async () => {
  const clock = createFakeClock();
  const { asked, root } = asker({ "checks.run": { outcomes } });
  const { checks } = healthThroughRoot([check("memory"), hidden("disk_space"), check("firewall")], root, clock);
  const [memory, disk, fire] = checks;
  const run = async (each: Check | undefined) => each?.run(settings, never, clock.monotonicMs());
  expect(await Promise.all([memory, disk, fire].map(run))).toEqual([here, outcomes.disk_space, outcomes.firewall]);
  expect(asked).toEqual([["checks.run", { check_ids: ["disk_space", "firewall"] }]]);
  // The same once more is a new look.
  await run(disk);
  expect(asked).toHaveLength(2);
  // So is what is asked for after the round began.
  await clock.advance(1);
  await run(fire);
  expect(asked).toHaveLength(3);
});

it("asks root about file systems only while the service cannot look at all of them", async () => {
  const clock = createFakeClock();
  const { asked, root } = asker({ "checks.run": { outcomes } });
  let isHidden = false;
  const disk: Check = { ...check("disk_space"), run: (...given) => (isHidden ? hidden("") : check("")).run(...given) };
  const broken: Check = { ...check("inode_usage"), run: () => Promise.reject(new Error("no answer")) };
  const { checks } = healthThroughRoot([disk, check("firewall"), broken], root, clock);
  const run = async (at: number) => {
    await clock.advance(1);
    return checks[at]?.run(settings, never, clock.monotonicMs());
  };
  expect(await run(0)).toEqual(here);
  await expect(run(2)).rejects.toThrow("no answer");
  expect(asked).toEqual([]);
  await run(1);
  isHidden = true;
  expect(await run(0)).toEqual(outcomes.disk_space);
  isHidden = false;
  expect(await run(0)).toEqual(here);
  await run(1);
  const ids = ["inode_usage", "firewall"];
  const both = ["disk_space", ...ids];
  expect(asked).toMatchObject([ids, both, ids].map((each) => ["checks.run", { check_ids: each }]));
});

it("says to root what a check said last where that holds a figure, in a round of its own after a start", async () => {
  const held = { ...outcome("near"), graded: { "/srv": "warn" } } as const;
  const clock = createFakeClock();
  const { asked, root } = asker({ "checks.run": { outcomes: { disk_space: held, inode_usage: here } } });
  const { checks } = healthThroughRoot([hidden("disk_space"), hidden("inode_usage")], root, clock);
  const run = (at: number, previous?: PreviousGrades) =>
    checks[at]?.run({ ...settings, ...(previous && { previous }) }, never, clock.monotonicMs());
  const ids = ["disk_space", "inode_usage"];
  expect(await Promise.all([run(1), run(0, { status: "warn" })])).toEqual([here, held]);
  expect(asked).toEqual([
    ["checks.run", { check_ids: ids }],
    ["checks.run", { check_ids: ids, previous: { disk_space: { status: "warn" } } }],
  ]);
  await clock.advance(1);
  // The round of another knows it from the last answer.
  await Promise.all([run(1), run(0, { status: "warn", objects: { "/srv": "warn" } })]);
  expect(asked.slice(2)).toEqual([
    ["checks.run", { check_ids: ids, previous: { disk_space: { status: "warn", objects: { "/srv": "warn" } } } }],
  ]);
  await clock.advance(1);
  await run(0, { status: "pass", objects: {} });
  expect(asked.slice(3)).toEqual([["checks.run", { check_ids: ids }]]);
});

it("asks root for a check that takes long by itself, and not where its subject is absent", async () => {
  const { asked, root } = asker({ "checks.run": { outcomes: { lvm_thin: outcome("pool") } } });
  const thin = (absent?: Check["absent"]): Check => ({ ...check("lvm_thin"), ...(absent && { absent }) });
  const none = outcome("no pool");
  const through = (each: Check): Promise<Outcome | undefined> | undefined =>
    healthThroughRoot([check("disk_space"), each], root, createFakeClock()).checks[1]?.run(settings, never, 0);
  expect(await through(thin())).toEqual(outcome("pool"));
  expect(await through(thin(() => Promise.resolve(undefined)))).toEqual(outcome("pool"));
  expect(asked).toEqual(Array.from({ length: 2 }, () => ["checks.run", { check_ids: ["lvm_thin"] }]));
  expect(await through(thin(() => Promise.resolve(none)))).toEqual(none);
  expect(asked).toHaveLength(2);
});

it("asks root for a monitoring plugin of root's by itself, and for no other", async () => {
  const { asked, root } = asker({ "monitoring.run": { outcome: outcome("pong") } });
  const { checks } = healthThroughRoot([check("ping"), check("load")], root, createFakeClock(), ["ping"]);
  const results = await Promise.all(checks.map((each) => each.run(settings, never, 0)));
  expect(results).toEqual([outcome("pong"), here]);
  expect(asked).toEqual([["monitoring.run", { check_id: "ping" }]]);
});

it("says that root does not have a check", async () => {
  const { root } = asker({ "checks.run": { outcomes: {} } });
  const { checks } = healthThroughRoot([check("firewall")], root, createFakeClock());
  await expect(checks[0]?.run(settings, never, 0)).rejects.toThrow(/does not have this check/);
});

const fix = (id: string): Fix => ({
  id,
  summary: "",
  risk: "safe",
  alsoNeeds: [],
  kind: "storage",
  endsOnFailure: false,
  plan: () => Promise.resolve({ steps: [], reason: "here" }),
});

it("has root plan and carry out fixes, and checks again after that", async () => {
  const { request, asked } = asker({ "checks.run": { outcomes } });
  const events: string[] = [];
  const openFix = (id: string): Promise<RootFix> => {
    events.push(`open ${id}`);
    return Promise.resolve({
      found: outcomes.disk_space,
      plan: { steps: [{ action: "a" }], digested: ["each of a"], freesBytes: 5 },
      proceed() {
        events.push("proceed");
        return Promise.resolve({ steps: [], after: here });
      },
      close() {
        events.push("close");
        return Promise.resolve();
      },
    });
  };
  const checks = [hidden("disk_space", ["disk_cleanup"]), check("firewall"), check("up", ["apply_security_updates"])];
  const through = healthThroughRoot(checks, { request, openFix }, createFakeClock());
  const plan = await through.fix(fix("disk_cleanup")).plan(here, never);
  expect(plan).toMatchObject({ steps: [{ action: "a" }], digested: ["each of a"], freesBytes: 5 });
  await expect(plan.steps[0]?.run(never)).rejects.toThrow(/in the process that planned it/);
  await through.checks[0]?.run(settings, never, 0);
  const open = await through.openFix("disk_space", never);
  expect(await open.proceed(never)).toEqual({ steps: [], after: here });
  await through.checks[1]?.run(settings, never, Number.POSITIVE_INFINITY);
  expect(events).toEqual(["open disk_space", "close", "open disk_space", "proceed"]);
  expect(asked).toHaveLength(2);
  const updates = fix("apply_security_updates");
  expect(through.fix(updates)).toBe(updates);
});

it("asks root what has to be restarted, and not again at once", async () => {
  const clock = createFakeClock();
  const { request, asked } = asker({
    "packages.restart_needs": { requiresReboot: false, units: ["a"] },
    "packages.refresh": {},
  });
  const manager = managerThroughRoot(createFakePackageManager(), request, clock);
  const needs = () => manager.restartNeeds(never);
  expect(await Promise.all([needs(), needs()])).toEqual([
    { requiresReboot: false, units: ["a"] },
    { requiresReboot: false, units: ["a"] },
  ]);
  expect(asked).toHaveLength(1);
  await manager.refresh({ step: () => undefined, line: () => undefined }, never);
  await needs();
  expect(asked.map(([name]) => name)).toEqual(["packages.restart_needs", "packages.refresh", "packages.restart_needs"]);
});

it("has root plan where only root can, and nowhere else", async () => {
  const plan = { changes: [], downloadBytes: 7, diskBytes: 0 };
  const { request, asked } = asker({ "packages.simulate": plan });
  const own = createFakePackageManager();
  const wanted = { type: "all", isSecurityOnly: false, names: undefined } as const;
  const simulate = (manager: typeof own | (typeof own & { isPlannedByRoot: true }), names?: readonly string[]) =>
    managerThroughRoot(manager, request, createFakeClock()).simulate({ ...wanted, names }, never);
  expect(await simulate(own)).toMatchObject({ downloadBytes: 0 });
  expect(asked).toEqual([]);
  expect(await simulate({ ...own, isPlannedByRoot: true })).toBe(plan);
  expect(await simulate({ ...own, isPlannedByRoot: true }, ["web"])).toBe(plan);
  expect(asked).toEqual([
    ["packages.simulate", { request: { type: "all", isSecurityOnly: false } }],
    ["packages.simulate", { request: { type: "all", isSecurityOnly: false, names: ["web"] } }],
  ]);
});

it("has root plan what comes and goes where only root can plan, and nowhere else", async () => {
  const plan = { changes: [], downloadBytes: 7, diskBytes: 0, isPurge: true };
  const { request, asked } = asker({ "packages.plan_change": plan });
  const own = createFakePackageManager([fakePackage("web", "1")]);
  const wanted = { change: "purge", names: ["web"], removesOnlyNamed: true } as const;
  const planned = (manager: PackageManager) =>
    managerThroughRoot(manager, request, createFakeClock()).planChange?.(wanted, never);
  expect(await planned(own)).toMatchObject({ changes: [{ name: "web", to: null }] });
  expect(asked).toEqual([]);
  expect(await planned({ ...own, isPlannedByRoot: true })).toBe(plan);
  expect(asked).toEqual([["packages.plan_change", { request: wanted }]]);
  const { planChange: _, ...without } = own;
  expect(managerThroughRoot({ ...without, isPlannedByRoot: true }, request, createFakeClock())).not.toHaveProperty(
    "planChange",
  );
});

it("has root hold packages, where the package manager can", async () => {
  const { request, asked } = asker({ "packages.hold": { isDone: true, reason: "" } });
  const own = createFakePackageManager();
  const { setHolds } = managerThroughRoot(own, request, createFakeClock());
  const packages = [fakePackage("web", "1")];
  expect(await setHolds?.({ isHeld: true, packages }, never)).toEqual({ isDone: true, reason: "" });
  expect(asked).toEqual([["packages.hold", { isHeld: true, packages: [{ name: "web", architecture: "amd64" }] }]]);
  const { setHolds: _, ...without } = own;
  expect(managerThroughRoot(without, request, createFakeClock())).not.toHaveProperty("setHolds");
});

it("lists what root keeps, and changes none of it", async () => {
  const backend = snapshotsThroughRoot(
    asker({ "snapshots.list": { snapshots: [] }, "snapshots.verify": {} }).request,
    () => Promise.resolve("/var/lib/steward"),
  );
  expect(await backend.folder()).toBe("/var/lib/steward");
  expect(await backend.list(never)).toEqual([]);
  await backend.verify("20260101-000000", never);
  await expect(backend.remove("20260101-000000", never)).rejects.toThrow(/in an operation/);
});

it("has root restart services that only the settings permit, and no others", async () => {
  const { request, asked } = asker({ "services.restart": { jobResult: "done" }, "services.reset_failed": {} });
  const own = createFakeUnits([{ name: "cron.service" }, { name: "rescue.service" }], { allow: ["rescue"] });
  const units = unitsThroughRoot(own, request);
  for (const name of ["cron.service", "rescue.service"]) {
    await units.resetFailed(name);
    expect(await units.restart(name, never)).toBe("done");
  }
  expect(own.actions).toEqual(["reset cron.service", "restart cron.service"]);
  expect(asked).toEqual([
    ["services.reset_failed", { name: "rescue.service" }],
    ["services.restart", { name: "rescue.service" }],
  ]);
});

it("has root change the files of all units", async () => {
  const changes = [{ type: "symlink", path: "/etc/systemd/system/cron.service", target: "/dev/null" }];
  const answers = Object.fromEntries(unitFileVerbs.map((verb) => [`services.${verb}`, { changes }]));
  const { request, asked } = asker(answers);
  const own = createFakeUnits([{ name: "cron.service" }]);
  const units = unitsThroughRoot(own, request);
  for (const verb of unitFileVerbs) expect(await units[verb]("cron.service")).toEqual(changes);
  expect(own.actions).toEqual([]);
  expect(asked).toEqual(unitFileVerbs.map((verb) => [`services.${verb}`, { name: "cron.service" }]));
});

it("asks root for the input and output of processes once for several seconds, and goes without where it cannot", async () => {
  const clock = createFakeClock();
  const processes = createFakeProcesses([
    fakeProcess(7, { io: { readBytes: 1, writtenBytes: 2 } }),
    fakeProcess(8),
    fakeProcess(9),
  ]);
  const { processes: all } = await processes.sample();
  // What has the number of 9 now started later.
  const io = [
    [7, 700, 5, 5],
    [8, 800, 3, 4],
    [9, 901, 6, 6],
  ];
  const { request, asked } = asker({ "processes.io": { io } });
  const through = processesThroughRoot(processes, request, clock);
  const found = [
    [7, { readBytes: 1, writtenBytes: 2 }],
    [8, { startTicks: 800, readBytes: 3, writtenBytes: 4 }],
  ];
  const both = await Promise.all([through.ioOfAll(all), through.ioOfAll(all)]);
  expect(both.map((each) => [...each])).toEqual([found, found]);
  expect([...(await through.io(all))]).toEqual([[7, { readBytes: 1, writtenBytes: 2 }]]);
  await clock.advance(5_000);
  await through.ioOfAll(all);
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  await through.ioOfAll(all);
  expect(asked).toHaveLength(2);
  const away: RequestRoot = () =>
    Promise.reject(new HostUnavailable("no answer", { missing: "root", retryable: true }));
  expect((await processesThroughRoot(processes, away, clock).ioOfAll(all)).size).toBe(1);
});
