import { recordsIn } from "#kernel/values.ts";
import type { Outcome } from "../check.ts";

/** A number that a check reports. */
export interface Figure {
  readonly name: string;
  /** As the plugin wrote it; "" where the name contains it. */
  readonly unit: string;
  readonly value: number;
}

const maxNameChars = 64;
const maxUnitChars = 16;

/** So that a mean of an hour can be stored in 32 bits. */
const maxValue = 1e38;

const isFigure = (value: unknown): value is number => typeof value === "number" && Math.abs(value) <= maxValue;

/**
 * The performance data of a plugin, else every number in the details that is not inside a list or an object: what `steward check --nagios`
 * prints, so that nothing has to be declared, and lists of objects that come and go make no series.
 */
export function figuresOf(details: Outcome["details"]): readonly Figure[] {
  const { perfdata } = details as { readonly perfdata?: unknown };
  const named: readonly (readonly [string, unknown, unknown])[] = Array.isArray(perfdata)
    ? recordsIn(perfdata).map(({ label, value, unit }) => [String(label), value, unit])
    : Object.entries(details).map(([name, value]) => [name, value, ""]);
  return named.flatMap(([name, value, unit]) =>
    isFigure(value) && name !== "" && name.length <= maxNameChars
      ? [{ name, value, unit: String(unit).slice(0, maxUnitChars) }]
      : [],
  );
}
