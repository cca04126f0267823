import type { Settings } from "./settings.ts";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a time as the settings write it (`30s`), whose form has been checked. */
function toMs(text: string): number {
  const [, count, unit = ""] = /^(\d+)([a-z]+)$/.exec(text) ?? [];
  return Number(count) * (unitMs[unit] ?? Number.NaN);
}

/** What the settings say of health checks, with times in milliseconds. */
export function checkPlan({ health = {} }: Pick<Settings, "health">) {
  const { interval, checks = {} } = health;
  return {
    ...(interval !== undefined && { intervalMs: toMs(interval) }),
    checks: Object.fromEntries(
      Object.entries(checks).map(([id, { enabled, interval: own, timeout, ...thresholds }]) => [
        id,
        {
          ...thresholds,
          ...(enabled !== undefined && { isEnabled: enabled }),
          ...(own !== undefined && { intervalMs: toMs(own) }),
          ...(timeout !== undefined && { timeoutMs: toMs(timeout) }),
        },
      ]),
    ),
  };
}
