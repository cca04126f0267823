import type { Context, Plan } from "#contract/operation.ts";
import type { RestartResult, ServiceChange } from "#contract/system.ts";
import { DomainError } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import {
  type AlsoChanged,
  type Confirmation,
  changeUnit,
  type FoundUnit,
  hasCrashed,
  isRunning,
  refusalOf,
  type Unit,
  type UnitObstacle,
  type UnitVerb,
  unitObstacle,
} from "#domain/ports/units.ts";
import {
  confirmationOf,
  dangerOf,
  onHost,
  parseServiceName,
  refused,
  type ServiceInput,
  type ServicePorts,
  toServiceEntry,
} from "./service.ts";

const past: Readonly<Record<UnitVerb, string>> = {
  start: "started",
  stop: "stopped",
  restart: "restarted",
  reload: "reloaded",
};

function changeMessage(verb: UnitVerb, after: FoundUnit): string {
  const { name, activeState, isConditionMet, result } = after;
  if (verb === "reload") return `${name} reloaded`;
  if (verb === "stop") {
    if (isRunning(after)) return `${name} stopped, and something has started it again since`;
    return activeState === "failed" ? `${name} stopped, but did not end cleanly (${result})` : `${name} stopped`;
  }
  if (activeState !== "inactive") return `${name} ${past[verb]}`;
  // For systemd, a start that a condition prevents is a success.
  return isConditionMet ? `${name} ran and ended` : `${name} was not started: a condition of the unit is not met`;
}

/** Why there is nothing to do; undefined where there is. */
function alreadySo(verb: UnitVerb, unit: Unit): string | undefined {
  if (verb === "start" && isRunning(unit)) return `${unit.name} is ${unit.activeState} already`;
  if (verb === "stop" && unit.activeState === "inactive") return `${unit.name} is inactive already`;
  return undefined;
}

const alsoSteps: Readonly<Record<UnitVerb, (name: string, because: string) => string>> = {
  start: (name, of) => `start ${name}, which ${of} requires or wants`,
  stop: (name, of) => `stop ${name}, which requires ${of} or conflicts with it`,
  restart: (name, of) => `restart ${name}, which requires ${of} or is part of it`,
  reload: (name, of) => `reload ${name}, to which ${of} passes it on`,
};

/** Why a unit that would stop as well keeps it from being done. */
function stopsProtected(
  also: readonly AlsoChanged[],
  ownUnit: string | undefined,
  confirmation: Confirmation,
): UnitObstacle | undefined {
  for (const { name, ...unit } of also.filter(({ verb }) => verb === "stop")) {
    const refusal = refusalOf({ refusal: unit.refusal }, confirmation, "stop");
    if (name === ownUnit)
      return { reason: `it would also stop ${name}, which is this service`, remedy: "systemctl does it on the host" };
    if (refusal !== undefined) return { ...refusal, reason: `it would also stop ${name}: ${refusal.reason}` };
  }
  return undefined;
}

function changePlan(verb: UnitVerb, unit: FoundUnit, also: readonly AlsoChanged[], resetsLimit: boolean): Plan {
  const reason = alreadySo(verb, unit);
  if (reason !== undefined) return createPlan([], { units: [], reason });
  const changed = also.flatMap(({ name, verb: does }) => (does === "trigger" ? [] : [{ name, does }]));
  const triggers = also.filter(({ verb: does }) => does === "trigger").map(({ name }) => name);
  const danger = dangerOf(also.find(({ refusal }) => refusal?.isConfirmable === true) ?? unit);
  const reasons = [
    ...(danger.reason === undefined ? [] : [danger.reason]),
    ...(triggers.length > 0 ? [`${triggers.join(", ")} can start ${unit.name} again`] : []),
  ];
  return createPlan(
    [
      ...(resetsLimit ? [`reset the start limit of ${unit.name}`] : []),
      `${verb} ${unit.name}`,
      ...changed.map(({ name, does }) => alsoSteps[does](name, unit.name)),
    ],
    {
      units: [unit.name, ...changed.map(({ name }) => name)],
      ...danger,
      ...(reasons.length > 0 && { reason: reasons.join("; ") }),
    },
  );
}

/**
 * systemd keeps the first result of a crash loop (`exit-code`), so `start-limit-hit` is rarely seen, and resetting the limit of a
 * failed unit does no harm. But systemd forgets a transient unit that is no longer failed, and could not start it again.
 */
const mayHaveHitStartLimit = (verb: UnitVerb, unit: Unit): boolean =>
  (verb === "start" || verb === "restart") && unit.activeState === "failed" && unit.unitFileState !== "transient";

/** Why the job did not do what was asked; undefined when it did. */
function jobFault(verb: UnitVerb, jobResult: string, after: FoundUnit): string | undefined {
  if (jobResult !== "done") return `job ${jobResult} (${after.result})`;
  const hasEnded = (verb === "start" || verb === "restart") && hasCrashed(after);
  return hasEnded ? `it stopped at once (${after.result})` : undefined;
}

/** Starts, stops, restarts and reloads services. */
export function createServiceChanges({ units, ownUnit }: ServicePorts) {
  async function changeable(verb: UnitVerb, text: string, confirmation: Confirmation): Promise<FoundUnit> {
    const name = parseServiceName(text);
    const unit = await onHost(`${verb} ${name}`, () => units.read(name));
    if (unit.loadState === "not-found" && unit.activeState === "inactive")
      throw new DomainError("NOT_FOUND", `cannot ${verb} ${name}: no such unit`);
    const obstacle = unitObstacle(verb, unit, confirmation);
    if (obstacle !== undefined) throw refused(`${verb} ${name}`, obstacle);
    if (verb === "stop" && unit.name === ownUnit) {
      const remedy = `systemctl stop ${unit.name} does it on the host`;
      throw refused(`${verb} ${name}`, {
        reason: "it is this service, and nothing would be left to start it again",
        remedy,
      });
    }
    return unit;
  }

  function restartSelf(unit: Unit, context: Context): RestartResult {
    context.afterReply(() => units.restartDetached(unit.name));
    const message = `${unit.name} is this service: it restarts once this answer has left`;
    return { ...toServiceEntry(unit), success: true, message, job_result: "pending" };
  }

  async function change(
    verb: UnitVerb,
    unit: FoundUnit,
    signal: AbortSignal,
    confirmation: Confirmation,
  ): Promise<ServiceChange> {
    const { name } = unit;
    const reason = alreadySo(verb, unit);
    if (reason !== undefined) return { ...toServiceEntry(unit), success: true, message: reason, job_result: "" };
    if (mayHaveHitStartLimit(verb, unit)) await units.resetFailed(unit, confirmation);
    const { jobResult, after } = await changeUnit(units, verb, unit, signal, confirmation);
    const details = { job_result: jobResult, active_state: after.activeState };
    if (jobResult === "running") {
      const message = `cannot confirm the ${verb} of ${name}: its job is still running (look again later)`;
      throw new DomainError("INTERNAL_ERROR", message, details);
    }
    if (jobResult === "unknown") {
      const shown = verb === "reload" ? "" : `, and the unit does not show that it was ${past[verb]} since`;
      const message = `cannot confirm the ${verb} of ${name}: the system bus was lost meanwhile${shown} (look at its log, and try again)`;
      throw new DomainError("UNAVAILABLE", message, { ...details, missing: "systemd", retryable: true });
    }
    const fault = jobFault(verb, jobResult, after);
    if (fault !== undefined)
      throw new DomainError("INTERNAL_ERROR", `cannot ${verb} ${name}: ${fault}; see its log`, details);
    const message = changeMessage(verb, after);
    return { ...toServiceEntry(after), success: true, message, job_result: jobResult };
  }

  return async (verb: UnitVerb, input: ServiceInput, context: Context): Promise<ServiceChange | Plan> => {
    const { params, query } = input;
    const confirmation = confirmationOf(input);
    const unit = await changeable(verb, params.name, confirmation);
    const doing = `${verb} ${unit.name}`;
    if (query.dry_run || verb === "start" || verb === "stop") {
      const also = await onHost(doing, () => units.alsoChanged(verb, unit.name));
      const obstacle = verb === "restart" ? undefined : stopsProtected(also, ownUnit, confirmation);
      if (obstacle !== undefined) throw refused(doing, obstacle);
      if (query.dry_run) return changePlan(verb, unit, also, mayHaveHitStartLimit(verb, unit));
    }
    if (verb === "restart" && unit.name === ownUnit) return restartSelf(unit, context);
    return onHost(doing, () => change(verb, unit, context.signal(), confirmation));
  };
}
