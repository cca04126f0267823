import type { Timer, Timers } from "#domain/ports/units.ts";
import { isRecord } from "#kernel/values.ts";
import { calls, kindInterface, unitInterface } from "./calls.ts";
import { epochMs, nextStart, parseListedUnit, text } from "./parse.ts";
import type { Session } from "./session.ts";

type Properties = Readonly<Record<string, unknown>>;
const asProperties = ([value]: readonly unknown[]): Properties => (isRecord(value) ? value : {});

type Asked = Pick<Session, "call" | "untilReady">;

/** What a unit's properties say; a timer may start a unit of any kind. */
async function unitOf({ call }: Asked, name: string) {
  const path = await call(calls.loadUnit(name), ([value]) => text(value));
  const properties = await call(calls.getAll(path, unitInterface), asProperties);
  const kind = kindInterface(name);
  const result = kind === undefined ? "" : await call(calls.get(path, kind, "Result"), ([value]) => text(value));
  return {
    unitActiveState: text(properties["ActiveState"]),
    unitSince: epochMs(properties["StateChangeTimestamp"]),
    unitResult: result,
  };
}

export function createTimers(session: Asked): Timers {
  const readTimer = async (name: string, path: string): Promise<readonly Timer[]> => {
    const timer = await session.call(calls.getAll(path, "org.freedesktop.systemd1.Timer"), asProperties);
    const unit = text(timer["Unit"]);
    // It was unloaded since the list.
    if (unit === "") return [];
    return [
      {
        name,
        unit,
        lastStartAt: epochMs(timer["LastTriggerUSec"]),
        nextStartAt: nextStart(timer, Date.now()),
        ...(await unitOf(session, unit)),
      },
    ];
  };

  return {
    async list() {
      await session.untilReady();
      const rows = await session.call(calls.listTimers(), ([list]) => (Array.isArray(list) ? list : []));
      const timers = rows.flatMap((row) => parseListedUnit(row) ?? []);
      const sorted = timers.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      return (await Promise.all(sorted.map(({ name, path }) => readTimer(name, path)))).flat();
    },
  };
}
