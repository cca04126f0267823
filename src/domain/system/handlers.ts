import { serviceListLimit } from "#contract/limits.ts";
import type { Context, Handlers, Plan } from "#contract/operation.ts";
import { type RestartResult, type ServiceEntry, serviceUnitName, type system } from "#contract/system.ts";
import { DomainError, invalid, unavailable } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { HostFacts } from "#domain/ports/host.ts";
import {
  type FoundUnit,
  hasCrashed,
  type RestartObstacle,
  restartObstacle,
  restartUnit,
  type Unit,
  UnitProtected,
  UnitRefused,
  type Units,
} from "#domain/ports/units.ts";
import { toNullableTimestamp } from "#kernel/clock.ts";

/** A service name (systemd.unit(5)) without those that begin with a dash, which a command would take for an option. */
const serviceName = /^[A-Za-z0-9:_\\][A-Za-z0-9:_.\\@-]*\.service$/;

const maxNameLength = 255;

/** @returns the canonical name. @throws DomainError VALIDATION_ERROR. */
function parseServiceName(text: string): string {
  const name = serviceUnitName(text);
  if (name.length > maxNameLength) throw invalid("name", `longer than ${maxNameLength} characters`);
  if (!serviceName.test(name)) throw invalid("name", "not the name of a service unit");
  if (!name.endsWith("@.service")) return name;
  const issue = "a template needs an instance";
  throw invalid("name", issue, `cannot use ${name}: ${issue} (name@instance.service)`);
}

const toServiceEntry = (unit: Unit): ServiceEntry => ({
  name: unit.name,
  description: unit.description,
  active: unit.activeState === "active",
  running: unit.subState === "running",
  enabled: unit.unitFileState === "enabled" || unit.unitFileState === "enabled-runtime",
  active_state: unit.activeState,
  sub_state: unit.subState,
  load_state: unit.loadState,
  unit_file_state: unit.unitFileState,
  main_pid: unit.mainPid,
  memory_bytes: unit.memoryBytes,
  restarts: unit.restarts,
  since: toNullableTimestamp(unit.since),
});

/** Whether the unit is more than a referenced name: it has a file, or runs or failed without one. */
const isPresent = ({ loadState, activeState }: Unit): boolean =>
  loadState !== "not-found" || activeState !== "inactive";

/** Units are immutable, so their entries are made once. */
const entries = new WeakMap<Unit, ServiceEntry>();

function cachedEntry(unit: Unit): ServiceEntry {
  const entry = entries.get(unit) ?? toServiceEntry(unit);
  entries.set(unit, entry);
  return entry;
}

function restartMessage({ name, activeState, isConditionMet }: FoundUnit): string {
  if (activeState !== "inactive") return `${name} restarted`;
  // For systemd, a start that a condition prevents is a success.
  return isConditionMet ? `${name} ran and ended` : `${name} was not started: a condition of the unit is not met`;
}

/** Not FORBIDDEN: like a masked unit, another key would not help. */
const notRestartable = (doing: string, { reason, remedy, setting }: RestartObstacle): DomainError =>
  new DomainError("VALIDATION_ERROR", `cannot ${doing}: ${reason}${remedy === undefined ? "" : ` (${remedy})`}`, {
    field: "name",
    issue: reason,
    ...(setting !== undefined && { setting }),
  });

async function onHost<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnitProtected) throw notRestartable(doing, error.refusal);
    if (error instanceof UnitRefused) throw invalid("name", error.message, `cannot ${doing}: ${error.message}`);
    throw unavailable(doing, error) ?? error;
  }
}

export function systemHandlers(ports: {
  host: Pick<HostFacts, "info">;
  units: Units;
  ownUnit: string | undefined;
}): Handlers<typeof system> {
  const { host, units, ownUnit } = ports;

  async function restartable(text: string): Promise<Unit> {
    const name = parseServiceName(text);
    const unit = await onHost(`restart ${name}`, () => units.read(name));
    if (unit.loadState === "not-found") throw new DomainError("NOT_FOUND", `cannot restart ${name}: no such unit`);
    const obstacle = restartObstacle(unit);
    if (obstacle !== undefined) throw notRestartable(`restart ${name}`, obstacle);
    return unit;
  }

  /**
   * systemd keeps the first result of a crash loop (`exit-code`), so `start-limit-hit` is rarely seen, and resetting the limit of a
   * failed unit does no harm. But systemd forgets a transient unit that is no longer failed, and could not start it again.
   */
  const mayHaveHitStartLimit = (unit: Unit): boolean =>
    unit.activeState === "failed" && unit.unitFileState !== "transient";

  const plan = (unit: Unit): Plan =>
    createPlan(
      [...(mayHaveHitStartLimit(unit) ? [`reset the start limit of ${unit.name}`] : []), `restart ${unit.name}`],
      { units: [unit.name] },
    );

  function restartSelf(unit: Unit, context: Context): RestartResult {
    context.afterReply(() => units.restartDetached(unit.name));
    const message = `${unit.name} is this service: it restarts once this answer has left`;
    return { ...toServiceEntry(unit), success: true, message, job_result: "pending" };
  }

  async function restart(unit: Unit, signal: AbortSignal): Promise<RestartResult> {
    const { name } = unit;
    if (mayHaveHitStartLimit(unit)) await units.resetFailed(name);
    const { jobResult, after } = await restartUnit(units, name, signal);
    const details = { job_result: jobResult, active_state: after.activeState };
    if (jobResult === "running") {
      const message = `cannot confirm the restart of ${name}: its job is still running (look again later)`;
      throw new DomainError("INTERNAL_ERROR", message, details);
    }
    if (jobResult === "unknown") {
      const message = `cannot confirm the restart of ${name}: the system bus was lost meanwhile, and the unit does not show that it was started since (look at its log, and try again)`;
      throw new DomainError("UNAVAILABLE", message, { ...details, missing: "systemd", retryable: true });
    }
    if (jobResult !== "done" || hasCrashed(after)) {
      const why = jobResult === "done" ? `it stopped at once (${after.result})` : `job ${jobResult} (${after.result})`;
      throw new DomainError("INTERNAL_ERROR", `cannot restart ${name}: ${why}; see its log`, details);
    }
    return { ...toServiceEntry(after), success: true, message: restartMessage(after), job_result: jobResult };
  }

  return {
    getSystemInfo: () => host.info(),

    async listServices({ query }) {
      const all = await onHost("list services", () => units.list());
      const status = query.status ?? "all";
      const matching = all.filter((unit) => isPresent(unit) && (status === "all" || unit.activeState === status));
      const limit = query.limit ?? serviceListLimit.default;
      return { services: matching.slice(0, limit).map(cachedEntry), total: matching.length };
    },

    async restartService({ params, query }, context) {
      const unit = await restartable(params.name);
      if (query.dry_run) return plan(unit);
      if (unit.name === ownUnit) return restartSelf(unit, context);
      return onHost(`restart ${unit.name}`, () => restart(unit, context.signal()));
    },
  };
}
