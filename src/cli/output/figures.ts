const steps = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
] as const;

/** A time span in its two largest units. */
export function formatSpan(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [unit, size] of steps) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    // What follows a gap would be out of proportion.
    if (parts.length > 0 && count === 0) break;
    if (count > 0) parts.push(`${count} ${unit}`);
    if (parts.length === 2) break;
  }
  return parts.join(" ") || "0 s";
}

export const formatAge = (timestamp: string, now: number): string =>
  `${formatSpan((now - Date.parse(timestamp)) / 1000)} ago`;
