const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a time (`30s`) that the schema has checked. */
export function toMs(text: string): number {
  const [, count, unit = ""] = /^(\d+)([a-z]+)$/.exec(text) ?? [];
  return Number(count) * (unitMs[unit] ?? Number.NaN);
}
