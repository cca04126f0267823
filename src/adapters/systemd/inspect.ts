import type { FailedUnit, FoundUnit } from "#domain/ports/units.ts";
import { defaultServicePolicy, type ServicePolicy } from "#domain/system/service-policy.ts";
import type { Clock } from "#kernel/clock.ts";
import { calls, kindInterface, unitInterface } from "./calls.ts";
import { readMemory } from "./memory.ts";
import {
  blankUnit,
  conditionIn,
  namesIn,
  parseListedUnit,
  startingOf,
  text,
  type UnitRun,
  withProperties,
} from "./parse.ts";
import type { Session } from "./session.ts";

export interface Systemd extends Session {
  readonly clock: Clock;
  readonly policy: ServicePolicy;
}

/** A unit as it is now, and its run. systemd loads it for that if need be. */
export async function inspectUnit(
  systemd: Systemd,
  name: string,
): Promise<{ readonly unit: FoundUnit; readonly run: UnitRun }> {
  await systemd.untilReady();
  const path = await systemd.call(calls.loadUnit(name), ([value]) => text(value));
  let unit = { ...blankUnit(name), path };
  let names: readonly string[] = [];
  let starting = startingOf({});
  let isConditionMet = true;
  const take = ([properties]: readonly unknown[]): void => {
    unit = withProperties(unit, properties);
  };
  await systemd.call(calls.getAll(path, unitInterface), ([properties]) => {
    names = namesIn(properties);
    starting = startingOf(properties);
    isConditionMet = conditionIn(properties) ?? !systemd.unmet.has(path);
    take([properties]);
  });
  const kind = kindInterface(name);
  if (kind !== undefined) await systemd.call(calls.getAll(path, kind), take);
  const subject = { ...unit, names: [name, ...names] };
  const refusal = systemd.policy.refusal(subject);
  const isWidened = refusal === undefined && defaultServicePolicy.refusal(subject) !== undefined;
  const { isManual, run } = starting;
  return { unit: { ...unit, memoryBytes: readMemory(unit), refusal, isWidened, isManual, isConditionMet }, run };
}

async function withResult({ call }: Session, name: string, path: string): Promise<FailedUnit> {
  const kind = kindInterface(name);
  if (kind === undefined) return { name, result: "" };
  const result = await call(calls.get(path, kind, "Result"), ([value]) => text(value));
  return { name, result };
}

/** The units that have failed, of every kind: one request, and one more for each of them. */
export async function failedUnits(systemd: Systemd): Promise<readonly FailedUnit[]> {
  await systemd.untilReady();
  const rows = await systemd.call(calls.listFailed(), ([list]) => (Array.isArray(list) ? list : []));
  const units = rows.flatMap((row) => parseListedUnit(row) ?? []);
  const sorted = units.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return Promise.all(sorted.map(({ name, path }) => withResult(systemd, name, path)));
}
