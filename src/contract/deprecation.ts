import type { TSchema } from "typebox";

/** What is to go, and continues working until its sunset at least (docs/versioning.md). Days are YYYY-MM-DD, in UTC. */
export interface Deprecation {
  /** The day of the release that marks it. */
  readonly since: string;
  /** Twelve months later at the earliest. */
  readonly sunset: string;
  /** What takes its place, in words. */
  readonly instead: string;
  /** Path of what takes its place, below `/api/v1`. It may have parameters that the path of the deprecated operation has too. */
  readonly successor?: `/${string}`;
}

/** As the document and the command line say it. */
export const deprecationText = ({ since, sunset, instead }: Deprecation): string =>
  `Deprecated since ${since}: use ${instead}. It works until ${sunset} at least.`;

/** What documents say of it beside the text. */
export const deprecationMarks = ({ since, sunset }: Deprecation) => ({
  deprecated: true,
  "x-deprecated-since": since,
  "x-sunset": sunset,
});

/** A member of a schema that is to go. */
export function Deprecated<T extends TSchema & { readonly description?: string }>(schema: T, what: Deprecation): T {
  const description = [schema.description, deprecationText(what)].filter(Boolean).join(" ");
  // With what TypeBox keeps in members that are not enumerable.
  const copy = Object.create(Object.getPrototypeOf(schema) as object, Object.getOwnPropertyDescriptors(schema)) as T;
  return Object.assign(copy, deprecationMarks(what), { description });
}

const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text;

/** Why it is not a deprecation by the policy. @param path of the operation that is deprecated. */
export function deprecationFaults({ since, sunset, successor }: Deprecation, path = ""): readonly string[] {
  if (!isDay(since) || !isDay(sunset)) return ["since and sunset must be days"];
  const earliest = `${Number(since.slice(0, 4)) + 1}${since.slice(4)}`;
  const strange = [...(successor ?? "").matchAll(/\{\w+\}/g)].filter(([name]) => !path.includes(name));
  return [
    ...(sunset < earliest ? ["the sunset must be twelve months later at the earliest"] : []),
    ...strange.map(([name]) => `${name} is not a parameter of ${path}`),
  ];
}
