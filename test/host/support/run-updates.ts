import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import { createRebootNeed } from "#adapters/reboot/index.ts";
import { rebootRequiredCheck } from "#domain/health/checks/reboot-required.ts";
import { PackagesLocked } from "#domain/ports/packages.ts";
import type { UpdatesInput } from "./updates.ts";

// Runs inside the guest: node run-updates.ts VERB [JSON]. Prints the answer, or what it threw, as JSON.
const [verb = "", given = "{}"] = process.argv.slice(2);
const input = JSON.parse(given) as UpdatesInput;
const reboot = rebootRequiredCheck({ reboot: createRebootNeed() });
const manager = apt.open({
  exec,
  clock: systemClock,
  needsReboot: async (signal) => (await reboot.run({ ignore: [] }, signal)).status === "warn",
  ...(input.lockWaitMs !== undefined && { lockWaitMs: input.lockWaitMs }),
});
const lines: string[] = [];
const steps: { percent: number; what: string }[] = [];
const progress = {
  step: (percent: number, what: string) => void steps.push({ percent, what }),
  line: (text: string) => void lines.push(text),
};
const signal = AbortSignal.timeout(110_000);
const { id = "test", request = { type: "packages", isSecurityOnly: false } } = input;
const { plan = { changes: [], downloadBytes: 0, diskBytes: 0 } } = input;

const verbs: Readonly<Record<string, () => Promise<unknown>>> = {
  installed: () => manager.installed(signal),
  updates: () => manager.updates(signal),
  release: () => manager.release(signal),
  refresh: () => manager.refresh(progress, signal),
  simulate: () => manager.simulate({ names: undefined, ...request }, signal),
  commit: () => manager.commit(plan, { id, progress }, signal),
  settle: () => manager.settle(id, signal),
  repair: () => manager.repair({ id, progress }, signal),
  audit: () => manager.audit(signal),
  restartNeeds: () => manager.restartNeeds(signal),
};
const run = verbs[verb];
if (run === undefined) throw new Error(`cannot run ${verb}: there is no such verb`);
const answer = await run().then(
  (result) => ({ result: result ?? null, lines, steps }),
  (error: unknown) => ({
    error: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
    ...(error instanceof PackagesLocked && { holder: error.holder }),
    lines,
    steps,
  }),
);
process.stdout.write(JSON.stringify(answer));
