import { isRecord } from "./values.ts";

const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** A number of bytes for people, in binary units as `free -h` and `df -h` have them: `512 B`, `1.5 MiB`, `120 GiB`. */
export function formatBytes(bytes: number): string {
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** The text with a capital letter at its start. */
export const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The sentence as it continues after a colon: `Must be true` as `must be true`; abbreviations such as `HTTP` stay. */
export const lowerFirst = (text: string): string => text.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());

/** A number with its noun, in the plural unless it is one: `1 package`, `2 packages`, `2 entries`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

/** How many of all there are shown: `2 of 7 packages`; `7 packages` where that is all. */
export const countedOf = (shown: number, total: number, noun: string, plural?: string): string =>
  `${shown < total ? `${shown} of ` : ""}${counted(total, noun, plural)}`;

/** Names in a sentence, the first few of many: `a, b, c and 2 more`. */
export function listNames(names: readonly string[], most = 3): string {
  const rest = names.length - most;
  return rest <= 0 ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${rest} more`;
}

const encoder = new TextEncoder();
/** Length in UTF-8. */
export const utf8Length = (text: string): number => encoder.encode(text).length;

/** The text in at most so many UTF-16 units, an ellipsis at its end where it was longer; no character is halved. */
export const clipText = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;

/** The first line of what a program printed. */
export const firstLine = (text: string): string => text.trim().split("\n")[0] ?? "";

/** The number in a line `key number`, as flat keyed files of the kernel have them. */
export function flatKey(text: string, key: string): number | undefined {
  const digits = new RegExp(`^${key} (\\d+)$`, "m").exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** A word of a POSIX shell. */
export const shellQuoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;

const placeholder = /\{([a-z_]+)\}/g;

/**
 * Replaces placeholders (`{title}`) in the strings of a JSON value; names of members stay as they are. What is put in is not read
 * again, and stays within its string.
 */
export function fillTemplate(template: unknown, fields: Readonly<Record<string, string>>): unknown {
  if (typeof template === "string")
    return template.replaceAll(placeholder, (whole, name: string) =>
      Object.hasOwn(fields, name) ? (fields[name] ?? whole) : whole,
    );
  if (Array.isArray(template)) return template.map((each: unknown) => fillTemplate(each, fields));
  if (!isRecord(template)) return template;
  return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, fillTemplate(value, fields)]));
}

/** Names of the placeholders in a template, each once. */
export function templateNames(template: unknown): readonly string[] {
  const names = (value: unknown): readonly string[] => {
    if (typeof value === "string") return [...value.matchAll(placeholder)].map(([, name = ""]) => name);
    if (Array.isArray(value)) return value.flatMap(names);
    return isRecord(value) ? Object.values(value).flatMap(names) : [];
  };
  return [...new Set(names(template))];
}
