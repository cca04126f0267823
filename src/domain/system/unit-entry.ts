import type { UnitEntry } from "#contract/units.ts";
import { redact } from "#domain/common/redact.ts";
import type { KindUnit } from "#domain/ports/unit-details.ts";
import { toNullableTimestamp } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";

type Facts = Pick<UnitEntry, "timer" | "socket" | "mount" | "path">;

/** Options of a mount may have a password (mount.cifs(8)), and its device, command lines and messages one in an address. */
export const withoutSecrets = (text: string): string => redact(text).text;

/** The facts of a unit by its kind, as callers get them. */
export function toFacts({ timer, socket, mount, path }: Pick<KindUnit, "timer" | "socket" | "mount" | "path">): Facts {
  return defined({
    timer: timer && {
      unit: timer.unit,
      last_at: toNullableTimestamp(timer.lastAt),
      next_at: toNullableTimestamp(timer.nextAt),
      rules: [...timer.rules],
    },
    socket: socket && {
      units: [...socket.units],
      listens: socket.listens.map((each) => ({ ...each })),
      accepts: socket.accepts,
      connections: socket.connections,
    },
    mount: mount && { ...mount, what: withoutSecrets(mount.what), options: withoutSecrets(mount.options) },
    path: path && { unit: path.unit, rules: path.rules.map((each) => ({ ...each })) },
  });
}

export const toUnitEntry = (unit: KindUnit): UnitEntry => ({
  name: unit.name,
  type: unit.kind,
  description: unit.description,
  active_state: unit.activeState,
  sub_state: unit.subState,
  load_state: unit.loadState,
  unit_file_state: unit.unitFileState,
  result: unit.result,
  since: toNullableTimestamp(unit.since),
  ...toFacts(unit),
});
