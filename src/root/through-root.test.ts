import { expect, it } from "vitest";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { Check, Outcome, PreviousGrades } from "#domain/health/check.ts";
import { FileSystemsUnseen } from "#domain/ports/storage.ts";
import { createFakeClock } from "../../test/fakes/clock.ts";
import { createFakePackageManager } from "../../test/fakes/package-manager.ts";
import { createFakeProcesses, fakeProcess } from "../../test/fakes/processes.ts";
import { checksThroughRoot } from "./checks-through-root.ts";
import { processesThroughRoot } from "./processes-through-root.ts";
import type { RequestRoot } from "./request.ts";
import { managerThroughRoot } from "./through-root.ts";

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
  return { request, asked };
}

const outcome = (message: string): Outcome => ({ status: "warn", message, details: {} });
const outcomes = { disk_space: outcome("disk"), firewall: outcome("fire") };

it("checks through root are one request when asked for together, and another one later", async () => {
  const clock = createFakeClock();
  const { asked, request } = asker({ "checks.run": { outcomes } });
  const checks = checksThroughRoot([check("memory"), hidden("disk_space"), check("firewall")], request, clock);
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

it("checks through root hand over their previous grades, in a request of their own after a start", async () => {
  const held = { ...outcome("near"), graded: { "/srv": "warn" } } as const;
  const clock = createFakeClock();
  const { asked, request } = asker({ "checks.run": { outcomes: { disk_space: held, inode_usage: here } } });
  const checks = checksThroughRoot([hidden("disk_space"), hidden("inode_usage")], request, clock);
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

it("restart needs through root are cached until packages change", async () => {
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
  await manager.lists.refresh({ step: () => undefined, line: () => undefined }, never);
  await needs();
  expect(asked.map(([name]) => name)).toEqual(["packages.restart_needs", "packages.refresh", "packages.restart_needs"]);
});

it("restart needs through root are not lost for others with a client that goes away", async () => {
  const request = ((_task: string, _input: object, signal: AbortSignal) =>
    new Promise<unknown>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      setImmediate(resolve, { requiresReboot: true, units: [] });
    })) as unknown as RequestRoot;
  const manager = managerThroughRoot(createFakePackageManager(), request, createFakeClock());
  const first = new AbortController();
  const [gone, other] = [manager.restartNeeds(first.signal), manager.restartNeeds(never)];
  first.abort(new Error("the client has gone"));
  await expect(gone).rejects.toThrow("the client has gone");
  expect(await other).toMatchObject({ requiresReboot: true });
});

it("deleted files through root are those of the same process, none where root names none, and unknown without root", async () => {
  const clock = createFakeClock();
  const own = { count: 1, bytes: 1, largest: "/srv/own" };
  const others = { count: 2, bytes: 9, largest: "/srv/spool" };
  const processes = createFakeProcesses([fakeProcess(7, { deletedFiles: own }), fakeProcess(8), fakeProcess(9)]);
  const { processes: all } = await processes.sample();
  // What has the number of 9 now started later.
  const files = [
    [8, 800, others],
    [9, 901, others],
  ];
  const { request } = asker({ "processes.deleted_files": files });
  expect([...(await processesThroughRoot(processes, request, clock).deletedFiles(all))]).toEqual([
    [7, own],
    [8, others],
    [9, { count: 0, bytes: 0, largest: null }],
  ]);
  const away: RequestRoot = () =>
    Promise.reject(new HostUnavailable("no answer", { missing: "root", retryable: true }));
  expect([...(await processesThroughRoot(processes, away, clock).deletedFiles(all))]).toEqual([[7, own]]);
});

it("process I/O through root is cached for seconds, and partial without root", async () => {
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
  const { request, asked } = asker({ "processes.io": io });
  const through = { ...processes, ...processesThroughRoot(processes, request, clock) };
  const found = [
    [7, { readBytes: 1, writtenBytes: 2 }],
    [8, { readBytes: 3, writtenBytes: 4 }],
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
