const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** A number of bytes for people. */
export function formatBytes(bytes: number): string {
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

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

/** How long ago a moment of the service was. */
export const formatAge = (timestamp: string, now: number): string =>
  `${formatSpan((now - Date.parse(timestamp)) / 1000)} ago`;

/** `1 package`, `2 packages`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
