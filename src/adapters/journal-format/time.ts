const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (value: number): string => String(value).padStart(2, "0");

const timeOf = (date: Date): string => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
const dayOf = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

/** `Jan 31 14:00:00`, local time. */
export const shortTime = (date: Date): string => `${months[date.getMonth()]} ${two(date.getDate())} ${timeOf(date)}`;

/** `2026-01-31T14:00:00+0100`, local time. */
export function isoTime(date: Date): string {
  const offset = -date.getTimezoneOffset();
  const zone = `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}${two(Math.abs(offset) % 60)}`;
  return `${dayOf(date)}T${timeOf(date)}${zone}`;
}

/** `CET`, or `GMT+5` where the zone has no name in English. */
const zoneOf = (date: Date): string =>
  new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" })
    .formatToParts(date)
    .find(({ type }) => type === "timeZoneName")?.value ?? "";

/** `Sat 2026-01-31 14:00:00 CET`, local time. */
export const longTime = (date: Date): string => `${days[date.getDay()]} ${dayOf(date)} ${timeOf(date)} ${zoneOf(date)}`;
