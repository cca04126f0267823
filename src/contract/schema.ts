import { Type } from "./type.ts";

/** An integer, or null where there is none. */
export const NullableInteger = (description: string) =>
  Type.Unsafe<number | null>({ type: ["integer", "null"], description });

/** A string, or null where there is none. */
export const NullableString = (description: string) =>
  Type.Unsafe<string | null>({ type: ["string", "null"], description });

/** A moment as RFC 3339 text. */
export const Timestamp = (description: string) => Type.String({ format: "date-time", description });

/** A moment as RFC 3339 text, or null where there is none. */
export const NullableTimestamp = (description: string) =>
  Type.Unsafe<string | null>({ type: ["string", "null"], format: "date-time", description });

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** What RFC 3339 can write in UTC: an offset may lead out of the years 0000 to 9999. */
const earliest = Date.parse("0000-01-01T00:00:00Z");
const latest = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Reads RFC 3339 text (§5.6), strictly: the offset is needed, the separator is `T`, and the day must exist.
 * A leap second counts as the second after it.
 * @returns epoch milliseconds, undefined when the text is not of that form.
 */
export function parseTimestamp(text: string): number | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const daysInMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  if (Number(match[8] ?? 0) > 23 || Number(match[9] ?? 0) > 59) return undefined;
  const millis = Date.parse(second === 60 ? text.replace(/:60/, ":59").toUpperCase() : text.toUpperCase());
  const moment = millis + (second === 60 ? 1000 : 0);
  return moment >= earliest && moment <= latest ? moment : undefined;
}

/**
 * How validators are made of schemas of ours: the compiler checks them, and a test does against the meta-schema, which takes 30 ms of
 * each start and of each task.
 */
export const ownSchemas = { strict: false, meta: false, validateSchema: false } as const;

/** One of some words. */
export const Choice = <const T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: "string", enum: [...values], description });
