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

it("restarts what is still failed, and nothing else", async () => {
  const { plan, planned, messages, actions } = await repair([
    { name: "a.service", ...failed },
    { name: "b.service", activeState: "active" },
  ]);
  expect(plan).toMatchObject({ steps: [{ action: "restart a.service" }], units: ["a.service"] });
  expect(planned).toEqual([]);
  expect(actions).toEqual(["restart a.service"]);
  expect(messages).toEqual(["a.service is active (running)"]);
});

it("takes a job that ends as one that ran", async () => {
  const ended = { activeState: "inactive", subState: "dead", result: "success" };
  const { messages } = await repair([{ name: "a.service", ...failed, after: ended }]);
  expect(messages).toEqual(["a.service has run and ended well"]);
});

it("resets one that hit its start limit, but no transient one, which would be gone then", async () => {
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
])("leaves one failed that systemd does not start, so that it is still told of: %j", async (given) => {
  const { messages, actions } = await repair([{ name: "a.service", ...failed, ...given }]);
  expect(messages).toEqual([expect.stringMatching(/^failed: /)]);
  expect(actions).not.toContain("reset a.service");
});

it.each<[string, Partial<FakeUnit>]>([
  ["it failed again at once (exit-code); see its log", { after: failed }],
  ["systemd did not start it: a condition of the unit is not met", { after: untouched }],
  ["what the unit asserts is not so; it is failed", { jobResult: "assert", after: untouched }],
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
])("says: %s", async (message, given) => {
  const { messages } = await repair([{ name: "a.service", ...failed, ...given }]);
  expect(messages).toEqual([`failed: ${message}`]);
});

it("leaves one alone that has been started since the plan", async () => {
  const units = createFakeUnits([{ name: "a.service", ...failed }]);
  const { steps } = await systemdRestartFailedFix({ units, ownUnit: undefined }).plan(found("a.service"), signal);
  await units.restart("a.service", signal);
  expect(await steps[0]?.run(signal)).toBe("a.service is active by now and was left alone");
  expect(units.actions).toEqual(["restart a.service"]);
});

it("leaves out the unit of this service itself", async () => {
  const own = { name: "own.service", ...failed };
  expect((await repair([own], "own.service")).plan).toEqual({
    steps: [],
    reason: "own.service is this service itself",
  });
  const { plan } = await repair([own, { name: "a.service", ...failed }], "own.service");
  expect(plan.units).toEqual(["a.service"]);
});

it("has nothing to do where nothing is failed, or the check does not say what", async () => {
  expect((await repair([{ name: "a.service" }])).plan).toEqual({ steps: [], reason: "no unit is failed any more" });
  const fix = systemdRestartFailedFix({ units: createFakeUnits(), ownUnit: undefined });
  for (const details of [{}, { units: "a.service" }, { units: [null, 1, {}, { name: 1 }] }, { omitted_chars: 70_000 }])
    expect(await fix.plan({ status: "fail", message: "", details }, signal)).toMatchObject({ steps: [] });
});

it("leaves alone what the policy protects, and says so", async () => {
  const guarded = { name: "debug-shell.service", ...failed };
  const left = expect.stringMatching(/^debug-shell\.service is left alone: .*services\.allow/);
  const { plan, actions } = await repair([guarded, { name: "a.service", ...failed }]);
  expect([plan.units, plan.reason, actions]).toEqual([["a.service"], left, ["restart a.service"]]);
  expect((await repair([guarded])).plan).toMatchObject({ steps: [], reason: left });
});
