import { type Io, oneLine } from "./output.ts";
import { withLocalTimes } from "./text.ts";

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(textOf).join(", ");
  return typeof value === "string" ? withLocalTimes(value) : JSON.stringify(value);
}

/** Prints the members of one thing, a line for each, with their names in a column. */
export function printFields(io: Io, members: object): void {
  const entries = Object.entries(members).map(([name, value]) => [name.replaceAll("_", " "), textOf(value)] as const);
  const width = Math.max(...entries.map(([name]) => name.length));
  for (const [name, text] of entries) io.out(`${oneLine(name).padEnd(width)}  ${oneLine(text)}\n`);
}
