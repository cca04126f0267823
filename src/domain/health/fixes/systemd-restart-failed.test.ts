import { expect, it } from "vitest";
import { createFakeUnits, type FakeUnit } from "../../../../test/fakes/units.ts";
import { systemdRestartFailedFix } from "./systemd-restart-failed.ts";

const { signal } = new AbortController();
const failed = { activeState: "failed", subState: "failed", result: "exit-code" };
/** As it was: systemd did not even try. */
const untouched = { ...failed, since: null };
const found = (...names: readonly string[]) => ({
  status: "fail" as const,
  message: "",
  details: { units: names.map((name) => ({ name, result: "exit-code" })) },
});

/** Plans for these units, all of which the check has named, and carries out the plan. */
async function repair(given: readonly FakeUnit[], ownUnit?: string) {
  const units = createFakeUnits(given);
  const fix = systemdRestartFailedFix({ units, ownUnit });
  const plan = await fix.plan(found(...given.map(({ name }) => name)), signal);
  const planned = [...units.actions];
  const messages: string[] = [];
  for (const { run } of plan.steps)
    messages.push(await run(signal).catch((error: Error) => `failed: ${error.message}`));
  return { plan, planned, messages, actions: units.actions };
}

it("systemd_restart_failed restarts what is still failed, and accepts a job that has ended", async () => {
  const { plan, planned, messages, actions } = await repair([
    { name: "a.service", ...failed },
    { name: "b.service", activeState: "active" },
  ]);
  expect(plan).toMatchObject({ steps: [{ action: "restart a.service" }], units: ["a.service"] });
  expect(planned).toEqual([]);
  expect(actions).toEqual(["restart a.service"]);
  expect(messages).toEqual(["a.service is active (running)"]);
  const ended = { activeState: "inactive", subState: "dead", result: "success" };
  expect((await repair([{ name: "a.service", ...failed, after: ended }])).messages).toEqual([
    "a.service ran and ended successfully",
  ]);
});

it("systemd_restart_failed resets a start limit, but not of a transient unit", async () => {
  const limited = { name: "a.service", ...failed, isLimited: true };
  const { messages, actions } = await repair([limited]);
  expect([messages, actions]).toEqual([
    ["a.service is active (running)"],
    ["restart a.service", "reset a.service", "restart a.service"],
  ]);
  expect((await repair([{ ...limited, unitFileState: "transient" }])).actions).toEqual(["restart a.service"]);
});

it.each<Partial<FakeUnit>>([
  { refusal: "Operation refused" },
  { jobResult: "assert", after: untouched },
  { jobResult: "dependency", after: untouched },
  { jobResult: "done", after: untouched },
  { loadState: "bad-setting" },
])("systemd_restart_failed leaves a unit failed that systemd does not start: %j", async (given) => {
  const { messages, actions } = await repair([{ name: "a.service", ...failed, ...given }]);
  expect(messages).toEqual([expect.stringMatching(/^failed: /)]);
  expect(actions).not.toContain("reset a.service");
});

it.each<[string, Partial<FakeUnit>]>([
  ["it failed again at once (exit-code); see its log", { after: failed }],
  ["systemd did not start it: a condition of the unit is not met", { after: untouched }],
  ["an assertion of the unit does not hold; it is failed", { jobResult: "assert", after: untouched }],
  [
    "it failed again at once (signal); see its log",
    { after: { activeState: "activating", subState: "auto-restart", result: "signal" } },
  ],
  ["a unit that it needs failed; it is inactive", { jobResult: "dependency", after: { activeState: "inactive" } }],
  [
    "its job is still running (look again later); it is activating",
    { jobResult: "running", after: { activeState: "activating" } },
  ],
  ["a condition of the unit is not met; it is inactive", { jobResult: "skipped", after: { activeState: "inactive" } }],
  ["its job ended with: unknown; it is inactive", { jobResult: "unknown", after: { activeState: "inactive" } }],
  ["the unit is masked (unmask it first)", { loadState: "masked" }],
  [
    "systemd could not load the unit (bad-setting; systemctl status a.service says why)",
    { loadState: "bad-setting", after: failed },
  ],
  [
    "there is no such unit any more (systemctl reset-failed a.service makes systemd forget it)",
    { loadState: "not-found" },
  ],
  ["Operation refused", { refusal: "Operation refused" }],
])("systemd_restart_failed fails with: %s", async (message, given) => {
  const { messages } = await repair([{ name: "a.service", ...failed, ...given }]);
  expect(messages).toEqual([`failed: ${message}`]);
});

it("systemd_restart_failed leaves alone what is active again and its own unit", async () => {
  const units = createFakeUnits([{ name: "a.service", ...failed }]);
  const { steps } = await systemdRestartFailedFix({ units, ownUnit: undefined }).plan(found("a.service"), signal);
  await units.restart("a.service", signal);
  expect(await steps[0]?.run(signal)).toBe("a.service is active by now and was left alone");
  expect(units.actions).toEqual(["restart a.service"]);
  const own = { name: "own.service", ...failed };
  expect((await repair([own], "own.service")).plan).toEqual({
    steps: [],
    reason: "own.service is this service itself",
  });
  const { plan } = await repair([own, { name: "a.service", ...failed }], "own.service");
  expect(plan.units).toEqual(["a.service"]);
});

it("systemd_restart_failed leaves alone protected units", async () => {
  const guarded = { name: "debug-shell.service", ...failed };
  const left = expect.stringMatching(/^debug-shell\.service is left alone: .*services\.allow/);
  const { plan, actions } = await repair([guarded, { name: "a.service", ...failed }]);
  expect([plan.units, plan.reason, actions]).toEqual([["a.service"], left, ["restart a.service"]]);
  expect((await repair([guarded])).plan).toMatchObject({ steps: [], reason: left });
});

it("systemd_restart_failed has nothing to do without a failed unit", async () => {
  expect((await repair([{ name: "a.service" }])).plan).toEqual({
    steps: [],
    reason: "no unit is in the failed state any more",
  });
  const fix = systemdRestartFailedFix({ units: createFakeUnits(), ownUnit: undefined });
  for (const details of [{}, { units: "a.service" }, { units: [null, 1, {}, { name: 1 }] }, { omitted_chars: 70_000 }])
    expect(await fix.plan({ status: "fail", message: "", details }, signal)).toMatchObject({ steps: [] });
});
