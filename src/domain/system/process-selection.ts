import type { Caller, Input } from "#contract/operation.ts";
import { type processes, processUnitName } from "#contract/processes.ts";
import type { Scope } from "#contract/scopes.ts";
import type { ScopeLack } from "#domain/common/error.ts";
import type { Process, Processes, SampledProcess } from "#domain/ports/processes.ts";

/** The units that a caller's scopes are for; the domain of access decides. */
export interface UnitRights {
  readonly unitsOf: (caller: Caller, scope: Scope) => "all" | readonly string[];
  readonly matches: (pattern: string, name: string) => boolean;
  readonly lackOf: ScopeLack;
}

export type ProcessQuery = Input<typeof processes.listProcesses>["query"];
/** Units by process id. */
export type UnitsOfProcesses = ReadonlyMap<number, Process["unit"]>;
/** A process with all that is reported of it. */
export type ShownProcess = SampledProcess & Process;

/** Whether a caller may see or change a process of a unit by a scope. What belongs to no unit is for those with the whole scope. */
export function mayUse(rights: UnitRights, caller: Caller | undefined, scope: Scope, unit: string | null): boolean {
  const granted = caller === undefined ? [] : rights.unitsOf(caller, scope);
  return granted === "all" || (unit !== null && granted.some((pattern) => rights.matches(pattern, unit)));
}

/** Whether processes of a unit are asked for and may be seen. */
function unitFilter(rights: UnitRights, pattern: string | undefined, caller: Caller | undefined) {
  const known = new Map<string | null, boolean>();
  const fits = (unit: string | null): boolean =>
    (pattern === undefined || (unit !== null && rights.matches(pattern, unit))) &&
    mayUse(rights, caller, "processes:read", unit);
  /** @param unit undefined where the process has ended. */
  return (unit: string | null | undefined): boolean => {
    if (unit === undefined) return false;
    const is = known.get(unit) ?? fits(unit);
    known.set(unit, is);
    return is;
  };
}

/** Finds out of a sample what is asked for. Units and users are read of no more processes than must be known. */
export function createSelection(ports: { readonly processes: Processes; readonly rights: UnitRights }) {
  const { processes, rights } = ports;

  /** Of these those that are asked for and may be seen; with the units of all of them where one has to know them. */
  const select = async (
    all: readonly SampledProcess[],
    { unit: wanted, user, pid: only, by_unit: byUnit = false }: ProcessQuery,
    caller: Caller | undefined,
  ): Promise<{ readonly found: readonly SampledProcess[]; readonly unitOf: UnitsOfProcesses | undefined }> => {
    let found = only === undefined ? all : all.filter(({ pid }) => pid === only);
    const seesAll = caller !== undefined && rights.unitsOf(caller, "processes:read") === "all";
    const unitOf = byUnit || wanted !== undefined || !seesAll ? await processes.units(found) : undefined;
    if (unitOf !== undefined) {
      const fits = unitFilter(rights, wanted === undefined ? undefined : processUnitName(wanted), caller);
      found = found.filter(({ pid }) => fits(unitOf.get(pid)));
    }
    if (user !== undefined) {
      const users = await processes.users(found);
      const uid = /^\d+$/.test(user) ? Number(user) : undefined;
      found = found.filter(({ pid }) => {
        const known = users.get(pid);
        return known !== undefined && (known.user === user || (uid !== undefined && known.uid === uid));
      });
    }
    return { found, unitOf };
  };

  /** The first of these with their units and users; in the place of those that have ended since come the next ones. */
  const complete = async (ordered: readonly SampledProcess[], limit: number) => {
    const shown: ShownProcess[] = [];
    let at = 0;
    while (shown.length < limit && at < ordered.length) {
      const next = ordered.slice(at, at + limit - shown.length);
      at += next.length;
      const [units, users] = await Promise.all([processes.units(next), processes.users(next)]);
      for (const each of next) {
        const [unit, user] = [units.get(each.pid), users.get(each.pid)];
        if (unit !== undefined && user !== undefined) shown.push({ ...each, unit, ...user });
      }
    }
    return { shown, ended: at - shown.length };
  };

  return { select, complete };
}
