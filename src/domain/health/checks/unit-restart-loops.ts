import type { Unit, Units } from "#domain/ports/units.ts";
import type { Clock } from "#kernel/clock.ts";
import { counted, listNames } from "#kernel/text.ts";
import type { Check } from "../check.ts";
import { createIgnore } from "../ignore.ts";
import { grade } from "../threshold.ts";

const windowMs = 10 * 60_000;

interface Look {
  readonly atMs: number;
  readonly restarts: number;
}

/**
 * Services that systemd starts again and again: restarts within ten minutes, by default 3 warn and 10 fail. One that waits
 * for its next start counts with all its restarts, since a loop with long pauses restarts seldom.
 */
export function unitRestartLoopsCheck(ports: { units: Pick<Units, "list">; clock: Pick<Clock, "monotonicMs"> }): Check {
  const { units, clock } = ports;
  let looks: ReadonlyMap<string, readonly Look[]> = new Map();

  const recentRestarts = ({ name, subState, restarts }: Unit): number => {
    const [oldest] = looks.get(name) ?? [];
    const grown = oldest === undefined ? 0 : restarts - oldest.restarts;
    return subState === "auto-restart" ? Math.max(grown, restarts) : grown;
  };

  const remember = (listed: readonly Unit[]): void => {
    const atMs = clock.monotonicMs();
    looks = new Map(
      listed.map(({ name, restarts }) => {
        // A count that went down was reset: what came before says nothing.
        const kept = (looks.get(name) ?? []).filter(
          (look) => atMs - look.atMs <= windowMs && look.restarts <= restarts,
        );
        return [name, [...kept, { atMs, restarts }]];
      }),
    );
  };

  return {
    id: "unit_restart_loops",
    name: "Services in a restart loop",
    category: "services",
    severity: "high",
    async run({ warn = 3, fail = 10, ignore }) {
      const loaded = (await units.list()).filter(({ loadState }) => loadState !== "");
      if (loaded.length === 0) return { status: "skip", message: "systemd is not running on this host", details: {} };
      remember(loaded);
      const isIgnored = createIgnore(ignore);
      const looping = loaded
        .map((unit) => ({ name: unit.name, restarts: recentRestarts(unit), result: unit.result }))
        .filter(({ name, restarts }) => grade(restarts, { warn, fail }) !== "pass" && !isIgnored(name))
        .sort((a, b) => b.restarts - a.restarts);
      const details = { units: looping, window_seconds: windowMs / 1000 };
      if (looping.length === 0) return { status: "pass", message: "No service is in a restart loop", details };
      const names = looping.map(({ name, restarts }) => `${name} (${counted(restarts, "restart")})`);
      return {
        status: looping.some(({ restarts }) => restarts >= fail) ? "fail" : "warn",
        message: `${counted(looping.length, "service")} crashing and being restarted over and over: ${listNames(names)}`,
        details,
      };
    },
  };
}
