const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** Bytes for people: `1.4 GiB`. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  let rest = Math.abs(value);
  let unit = 0;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || rest >= 100 ? 0 : 1;
  return `${value < 0 ? "−" : ""}${rest.toFixed(digits)} ${units[unit]}`;
}

const numbers = new Intl.NumberFormat("en");
export const count = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : numbers.format(value);

/** `1 package`, `3 packages`. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${numbers.format(value)} ${value === 1 ? one : many}`;

/** The name of an operation for people: `restart service`. */
export const words = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

export const percent = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : `${Number(value.toFixed(value < 10 ? 1 : 0))} %`;

const spans = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
] as const;

/** Seconds for people, by the two largest units: `3 d 4 h`. */
export function duration(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [size, name] of spans) {
    if (rest < size && !(size === 1 && parts.length === 0)) continue;
    parts.push(`${Math.floor(rest / size)} ${name}`);
    rest %= size;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** `14 min ago`, `in 2 h`, `now`. */
export function relative(time: string | number, now = Date.now()): string {
  const seconds = Math.round((now - (typeof time === "number" ? time : Date.parse(time))) / 1000);
  const size = Math.abs(seconds);
  if (size < 5) return "now";
  const [unit, name] = spans.find(([each]) => size >= each) ?? [1, "s"];
  const text = `${Math.floor(size / unit)} ${name}`;
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

const two = (value: number): string => String(value).padStart(2, "0");
/** Date and time of this browser's zone, as in `2026-01-31 14:03:05`. */
export function local(time: string | number): string {
  const at = new Date(time);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
