import type { HealthCheckResult } from "#contract/checks.ts";
import { logWindowMs } from "#contract/limits.ts";
import type { UnitEntry } from "#contract/units.ts";
import { ask, isAround, type Surrounding } from "./reads.ts";
import { namedUnits } from "./subjects.ts";

const few = { units: 10, looked: 3, listeners: 24 } as const;
/** Of what a program or a person starts and stops; targets and slices follow from these. */
const kinds = new Set<UnitEntry["type"]>(["service", "mount", "socket", "timer", "path"]);
/** Without an id it is what somebody asks about units. */
const ofServices = new Set(["systemd_failed", "unit_restart_loops", "endpoints", ""]);

const hasFailed = ({ active_state: active, sub_state: sub }: UnitEntry): boolean =>
  active === "failed" || sub === "auto-restart";

/** Failed ones first, then those that do not run. */
const rank = (unit: UnitEntry): number => (hasFailed(unit) ? 0 : unit.active_state === "active" ? 2 : 1);

const byRank = (a: UnitEntry, b: UnitEntry): number =>
  rank(a) - rank(b) || (b.since ?? "").localeCompare(a.since ?? "") || a.name.localeCompare(b.name);

function lineOf({ name, active_state: active, sub_state: sub, since, result, description, mount }: UnitEntry): string {
  const about = mount === undefined ? description : `${mount.what} on ${mount.where} (${mount.type})`;
  return [
    `${name}: ${active} (${sub}) since ${since}`,
    ...(result === "" || result === "success" ? [] : [`result ${result}`]),
    ...(about === name ? [] : [about]),
  ].join(", ");
}

function isChanged({ since: at }: UnitEntry, { since, checked_at: now }: HealthCheckResult): boolean {
  if (at === null) return false;
  const atMs = Date.parse(at);
  return isAround(atMs, Date.parse(since)) || atMs >= Date.parse(now) - logWindowMs;
}

/** Units of all kinds that changed around the change of the check or in the last hour, services without those that the check names. */
export const changedUnits: Surrounding = {
  title: "Units whose state changed recently",
  scope: "system:read",
  concerns: () => true,
  async read(reads, result, context) {
    const { units } = await ask(reads, "listUnits", { type: "all", limit: 1000 }, context);
    const named = namedUnits(result);
    const changed = units
      .filter((unit) => kinds.has(unit.type) && isChanged(unit, result))
      .filter(({ type, name }) => type !== "service" || !named.includes(name))
      .toSorted(byRank);
    const looked = named.length > 0 ? [] : changed.filter(hasFailed).slice(0, few.looked);
    return { lines: changed.slice(0, few.units).map(lineOf), units: looked.map(({ name }) => name) };
  },
};

export const listeners: Surrounding = {
  title: "Ports at which programs listen",
  scope: "system:read",
  concerns: ({ check_id: id }) => ofServices.has(id),
  async read(reads, _, context) {
    const { listeners: all, notes } = await ask(reads, "getNetwork", {}, context);
    if (all === null) return { lines: notes };
    const known = all.toSorted((a, b) => Number(a.unit === null) - Number(b.unit === null));
    const lines = known.map(
      ({ protocol, address, port, unit }) => `${protocol} ${address}:${port} ${unit ?? "no unit"}`,
    );
    return { lines: lines.slice(0, few.listeners) };
  },
};
