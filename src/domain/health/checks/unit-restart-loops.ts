import type { Unit, Units } from "#domain/ports/units.ts";
import type { Clock } from "#kernel/clock.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, createIgnore, grade, skip, thresholdsFor } from "../check.ts";

const windowMs = 10 * 60_000;

interface Sample {
  readonly atMs: number;
  readonly restarts: number;
}

const limits = { warn: 3, fail: 10 };

export function unitRestartLoopsCheck(ports: {
  units: Pick<Units, "loaded">;
  clock: Pick<Clock, "monotonicMs">;
}): BuiltInCheck {
  const { units, clock } = ports;
  let samples: ReadonlyMap<string, readonly Sample[]> = new Map();

  const recentRestarts = ({ name, subState, restarts }: Unit): number => {
    const [oldest] = samples.get(name) ?? [];
    const grown = oldest === undefined ? 0 : restarts - oldest.restarts;
    return subState === "auto-restart" ? Math.max(grown, restarts) : grown;
  };

  const remember = (listed: readonly Unit[]): void => {
    const atMs = clock.monotonicMs();
    samples = new Map(
      listed.map(({ name, restarts }) => {
        // A lower count was reset.
        const kept = (samples.get(name) ?? []).filter(
          (sample) => atMs - sample.atMs <= windowMs && sample.restarts <= restarts,
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
    thresholds: limits,
    about:
      "Services in a restart loop: restarts within ten minutes, by default 3 warn and 10 fail. One that waits for " +
      "its next start counts with all its restarts, since a loop with long pauses restarts seldom.",
    meaning: "A service crashes and is started again, over and over.",
    remedy: "Read why it ends (journalctl -u UNIT), and stop it until that is fixed.",
    guardedBy: "change",
    async run({ ignore, ...settings }) {
      const { warn, fail } = thresholdsFor(limits, settings);
      const loaded = await units.loaded();
      if (loaded === undefined) return skip("systemd is not running on this host");
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
