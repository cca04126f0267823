const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a time as the settings write it (`30s`), whose form has been checked. */
export function toMs(text: string): number {
  const [, count, unit = ""] = /^(\d+)([a-z]+)$/.exec(text) ?? [];
  return Number(count) * (unitMs[unit] ?? Number.NaN);
}
