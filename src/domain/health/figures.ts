const gigabyte = 1e9;

const round = (value: number, decimals: number): number => Number(value.toFixed(decimals));

/** A share in percent with one decimal: the figure that is shown is also the one that is judged. 0 where there is nothing. */
export const toPercent = (part: number, whole: number): number => (whole <= 0 ? 0 : round((part / whole) * 100, 1));

/** Bytes in GB of 10^9 bytes, one decimal; below 1 GB three, or the small would all be 0. */
export function toGigabytes(bytes: number): number {
  const gigabytes = bytes / gigabyte;
  return round(gigabytes, gigabytes < 1 ? 3 : 1);
}

/** Bytes for people, in decimal units as disks are sold: "1.2 GB". */
export function formatBytes(bytes: number): string {
  const units = ["TB", "GB", "MB", "kB"];
  const at = units.findIndex((_, index) => bytes >= 1000 ** (units.length - index));
  if (at < 0) return `${bytes} B`;
  return `${(bytes / 1000 ** (units.length - at)).toFixed(1)} ${units[at]}`;
}

/** Names in a sentence, the first few of many. */
export function listNames(names: readonly string[], most = 3): string {
  const rest = names.length - most;
  return rest <= 0 ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${rest} more`;
}
