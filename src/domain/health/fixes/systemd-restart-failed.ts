import type { Units } from "#domain/ports/units.ts";
import { recordsIn } from "#kernel/values.ts";
import type { Outcome } from "../check.ts";
import type { Fix, FixStep } from "../fix.ts";

/** How long a unit is watched after its job, to notice a program that dies at once. */
const settleMs = 250;

const failedUnits = ({ details }: Outcome): readonly string[] =>
  recordsIn(details["units"]).flatMap(({ name }) => (typeof name === "string" ? [name] : []));

const verbs: Readonly<Partial<Record<string, string>>> = {
  canceled: "its job was cancelled",
  timeout: "its job took too long",
  dependency: "a unit that it needs failed",
  assert: "an assertion of the unit does not hold",
  skipped: "a condition of the unit is not met",
  running: "its job is still running (look again later)",
};

/** Restarts failed units but for the service's own. */
export function systemdRestartFailedFix(ports: {
  units: Pick<Units, "read" | "resetFailed" | "restart" | "settled">;
  ownUnit: string | undefined;
}): Fix {
  const { units, ownUnit } = ports;

  async function restart(name: string, signal: AbortSignal): Promise<string> {
    const before = await units.read(name);
    if (before.activeState !== "failed") return `${name} is ${before.activeState} by now and was left alone`;
    if (before.loadState === "not-found")
      throw new Error(`there is no such unit any more (systemctl reset-failed ${name} makes systemd forget it)`);
    if (before.loadState === "masked") throw new Error("the unit is masked (unmask it first)");
    if (before.refusal !== undefined) throw new Error(`${before.refusal.reason} (${before.refusal.remedy})`);
    if (before.loadState !== "loaded")
      throw new Error(`systemd could not load the unit (${before.loadState}; systemctl status ${name} says why)`);
    const attempt = async () => {
      const job = await units.restart(name, signal);
      const after = await (job === "done" ? units.settled(name, settleMs) : units.read(name));
      return { job, after, isUntouched: after.activeState === "failed" && after.since === before.since };
    };
    let { job, after, isUntouched } = await attempt();
    // It has hit its start limit. Only then is it reset: a unit that is reset and cannot start is no longer reported as failed. A
    // transient one has no file, and systemd would forget it.
    if (job === "failed" && isUntouched && before.unitFileState !== "transient") {
      await units.resetFailed(name);
      ({ job, after, isUntouched } = await attempt());
    }
    const verb = verbs[job];
    if (verb !== undefined) throw new Error(`${verb}; it is ${after.activeState}`);
    if (job === "done" && isUntouched) throw new Error("systemd did not start it: a condition of the unit is not met");
    const hasFailed = after.activeState === "failed" || after.subState === "auto-restart";
    if (hasFailed) throw new Error(`it failed again at once (${after.result}); see its log`);
    if (job !== "done") throw new Error(`its job ended with: ${job}; it is ${after.activeState}`);
    return after.activeState === "inactive"
      ? `${name} ran and ended successfully`
      : `${name} is ${after.activeState} (${after.subState})`;
  }

  const stepFor = (name: string): FixStep => ({
    action: `restart ${name}`,
    run: (signal) => restart(name, signal),
  });

  return {
    id: "systemd_restart_failed",
    summary: "Starts again the units that have failed",
    risk: "moderate",
    alsoNeeds: ["services:restart"],
    kind: "services",
    mayFindNothing: true,
    endsOnFailure: false,
    async plan(found) {
      const named = failedUnits(found);
      const others = named.filter((name) => name !== ownUnit);
      const states = await Promise.all(others.map((name) => units.read(name)));
      const stillFailed = states.filter(({ activeState }) => activeState === "failed");
      const failed = stillFailed.filter(({ refusal }) => refusal === undefined).map(({ name }) => name);
      const left = stillFailed.flatMap(({ name, refusal }) =>
        refusal === undefined ? [] : [`${name} is left alone: ${refusal.reason} (${refusal.remedy})`],
      );
      const [first] = named;
      if (first === undefined) return { steps: [], reason: "the check names no unit that failed" };
      if (others.length === 0) return { steps: [], reason: `${first} is this service itself` };
      if (stillFailed.length === 0) return { steps: [], reason: "no unit is in the failed state any more" };
      const steps = failed.map(stepFor);
      if (left.length === 0) return { steps, units: failed };
      return {
        steps,
        units: failed,
        reason: left.join("; "),
        digested: [...steps.map(({ action }) => action), ...left],
      };
    },
  };
}
