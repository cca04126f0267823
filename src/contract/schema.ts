import { type Static, type TObjectOptions, type TOptional, type TProperties, type TString, Type } from "typebox";
import { defined } from "#kernel/values.ts";

export const NullableInteger = (description: string) =>
  Type.Unsafe<number | null>({ type: ["integer", "null"], description });

export const NullableString = (description: string) =>
  Type.Unsafe<string | null>({ type: ["string", "null"], description });

/** RFC 3339. */
export const Timestamp = (description: string) => Type.String({ format: "date-time", description });

export const NullableTimestamp = (description: string) =>
  Type.Unsafe<string | null>({ type: ["string", "null"], format: "date-time", description });

/** For validators of our schemas: the compiler and a test check them, and checking at run time would take 30 ms of each start. */
export const ownSchemas = { strict: false, meta: false, validateSchema: false } as const;

/** A query parameter that may be given several times: `unit=a&unit=b`. */
export const Repeatable = (member: TString, options: { readonly maxItems: number; readonly description: string }) =>
  Type.Unsafe<string | readonly string[]>({ type: "array", items: member, minItems: 1, ...options });

export const Choice = <const T extends string>(values: readonly T[], description?: string, preset?: T) =>
  Type.Unsafe<T>({ type: "string", enum: [...values], ...defined({ default: preset, description }) });

export const Strict = <T extends TProperties>(members: T, options: TObjectOptions = {}) =>
  Type.Object(members, { additionalProperties: false, ...options });

/** Members that may be left out. Not by `Type.Partial`, which costs a millisecond of each start. */
export const optional = <T extends TProperties>(members: T) =>
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, Type.Optional(schema)])) as {
    [K in keyof T]: TOptional<T[K]>;
  };

/** {@link Strict} with members that may all be left out. */
export const Options = <T extends TProperties>(members: T, options: TObjectOptions = {}) =>
  Strict(optional(members), options);

/** What a list says of itself beside its members. Services of earlier versions do not say all of it. */
export const ListShape = optional({
  total: Type.Integer({
    description: "Number of matches before `limit`; absent if counting them would need reading all.",
  }),
  limit: NullableInteger("Maximum entries of this answer; null if it has all matches."),
  next_cursor: NullableString("`cursor` of the next page; null on the last one."),
});

/** {@link ListShape} of a list that has always said how many there are. */
export const CountedListShape = {
  ...ListShape,
  total: Type.Integer({ description: "Number of matches before `limit`." }),
};

/** What an answer lacks since its source is missing or cannot be asked: an empty list without it is one of nothing. */
export const NotShown = Type.Array(Type.Object({ what: Type.String(), reason: Type.String() }), {
  description: "What is null, missing or unknown, and why.",
});
export type NotShown = Static<typeof NotShown>;

/** Of answers that mostly lack nothing. */
export const MayLack = optional({ not_shown: NotShown });

/** Query parameter that leads to the next page of a list. */
export const Cursor = Type.String({ minLength: 1, maxLength: 512, description: "`next_cursor` of the previous page." });
