import type { Plan } from "#contract/operation.ts";
import { type ServiceEntry, serviceUnitName } from "#contract/system.ts";
import { DomainError, invalid, unavailable } from "#domain/common/error.ts";
import {
  type Confirmation,
  type PolicyRefusal,
  type Unit,
  type UnitObstacle,
  UnitProtected,
  UnitRefused,
  type Units,
} from "#domain/ports/units.ts";
import { toNullableTimestamp } from "#kernel/clock.ts";

export interface ServicePorts {
  readonly units: Units;
  /** The unit of this service; undefined where it runs in none. */
  readonly ownUnit: string | undefined;
}

/** The input of every change of a service. */
export interface ServiceInput {
  readonly params: { readonly name: string };
  readonly query: { readonly dry_run?: boolean };
  /** None where nothing can be confirmed. */
  readonly body?: { readonly confirm?: boolean };
}

/** What a dry run says of a change that must be confirmed. */
export const dangerOf = ({ refusal }: { readonly refusal?: PolicyRefusal | undefined }): Partial<Plan> =>
  refusal?.isConfirmable === true ? { risk: "risky", reason: `${refusal.reason}; it takes confirm: true` } : {};

/** A dry run needs no confirmation: it says what would have to be confirmed. */
export const confirmationOf = ({ query, body }: Pick<ServiceInput, "query" | "body">): Confirmation => ({
  isConfirmed: query.dry_run === true || body?.confirm === true,
});

/** A service name (systemd.unit(5)) without those that begin with a dash, which a command would take for an option. */
const serviceName = /^[A-Za-z0-9:_\\][A-Za-z0-9:_.\\@-]*\.service$/;

const maxNameLength = 255;

/** @returns the canonical name. @throws DomainError VALIDATION_ERROR. */
export function parseServiceName(text: string): string {
  const name = serviceUnitName(text);
  if (name.length > maxNameLength) throw invalid("name", `longer than ${maxNameLength} characters`);
  if (!serviceName.test(name)) throw invalid("name", "not the name of a service unit");
  if (!name.endsWith("@.service")) return name;
  const issue = "a template needs an instance";
  throw invalid("name", issue, `cannot use ${name}: ${issue} (name@instance.service)`);
}

export const toServiceEntry = (unit: Unit): ServiceEntry => ({
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

/** What can be done about a refusal. */
export const remediesOf = ({ remedy, isConfirmable }: UnitObstacle): string =>
  [...(isConfirmable ? ["confirm it with confirm: true"] : []), ...(remedy ? [remedy] : [])].join(", or ");

/** Not FORBIDDEN: like a masked unit, another key would not help. */
export function refused(doing: string, obstacle: UnitObstacle): DomainError {
  const { reason, setting, isConfirmable } = obstacle;
  const remedies = remediesOf(obstacle);
  const hint = remedies === "" ? "" : ` (${remedies})`;
  return new DomainError("VALIDATION_ERROR", `cannot ${doing}: ${reason}${hint}`, {
    field: isConfirmable ? "confirm" : "name",
    issue: isConfirmable ? "Must be true" : reason,
    ...(setting !== undefined && { setting }),
  });
}

/** Does it, and says in the error what could not be done. */
export async function onHost<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnitProtected) throw refused(doing, error.refusal);
    if (error instanceof UnitRefused) throw invalid("name", error.message, `cannot ${doing}: ${error.message}`);
    throw unavailable(doing, error) ?? error;
  }
}
