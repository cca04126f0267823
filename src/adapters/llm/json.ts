import { isRecord } from "#kernel/values.ts";

export const fieldOf = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined);

/** A text that says something; undefined for everything else. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
