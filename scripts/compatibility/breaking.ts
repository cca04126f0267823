import { isRecord } from "#kernel/values.ts";

export type Json = Readonly<Record<string, unknown>>;

/** Both documents, in which references are looked up. */
export interface Pair {
  readonly before: Json;
  readonly after: Json;
  /** Today, as YYYY-MM-DD: what is past its sunset may go. */
  readonly today: string;
}

export const record = (value: unknown): Json => (isRecord(value) ? value : {});
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const below = (place: string, name: string): string => `${place}.${name}`;

/** The schema, or what its reference names. */
export function resolved(document: Json, schema: unknown): Json {
  const { $ref: reference } = record(schema);
  if (typeof reference !== "string") return record(schema);
  return record(
    reference
      .slice(2)
      .split("/")
      .reduce<unknown>((at, key) => record(at)[key], document),
  );
}

/** Why something must not be gone; nothing where it was deprecated and its sunset is past (docs/versioning.md). */
function goneFaults({ today }: Pick<Pair, "today">, was: unknown, place: string): readonly string[] {
  const { deprecated, "x-sunset": sunset } = record(was);
  if (deprecated !== true || typeof sunset !== "string") return [`${place}: is gone`];
  return sunset < today ? [] : [`${place}: is gone before its sunset, ${sunset}`];
}

/** JSON types that a schema allows; undefined for all. A number may be an integer. */
function typesOf({ type, enum: values, const: value }: Json): ReadonlySet<string> | undefined {
  const names = type === undefined ? undefined : [type].flat().map(String);
  const literals = values === undefined ? (value === undefined ? undefined : [value]) : list(values);
  const found = names ?? literals?.map((each) => (each === null ? "null" : typeof each));
  return found && new Set(found.flatMap((each) => (each === "number" ? ["number", "integer"] : [each])));
}

const lacking = (wanted: ReadonlySet<string>, has: ReadonlySet<string>): readonly string[] =>
  [...wanted].filter((each) => !has.has(each));

const allowedValues = ({ enum: values, const: value }: Json): readonly unknown[] | undefined =>
  values === undefined ? (value === undefined ? undefined : [value]) : list(values);

/** Keywords that narrow values of a type: whether a larger bound allows less, or undefined for what is compared as text. */
const keywords = [
  { name: "minimum", of: "integer", isLower: true },
  { name: "maximum", of: "integer", isLower: false },
  { name: "minLength", of: "string", isLower: true },
  { name: "maxLength", of: "string", isLower: false },
  { name: "minItems", of: "array", isLower: true },
  { name: "maxItems", of: "array", isLower: false },
  { name: "pattern", of: "string", isLower: undefined },
  { name: "format", of: "string", isLower: undefined },
] as const;

function boundOf(schema: Json, name: string): string | number | undefined {
  const bound = schema[name];
  return typeof bound === "string" || typeof bound === "number" ? bound : undefined;
}

/** Keywords by which less is allowed than before, of types that were allowed. */
function narrowed(before: Json, after: Json): readonly string[] {
  const types = typesOf(before);
  return keywords.flatMap(({ name, of, isLower }) => {
    const [old, now] = [boundOf(before, name), boundOf(after, name)];
    if (now === undefined || now === old || types?.has(of) === false) return [];
    const isWider = typeof old === "number" && typeof now === "number" && (isLower ? now < old : now > old);
    return isWider && isLower !== undefined ? [] : [`${name} is ${now}, was ${old ?? "free"}`];
  });
}

/** Compares the schemas of a place that both versions have. */
type Compare = (pair: Pair, before: unknown, after: unknown, place: string, depth: number) => readonly string[];

/** Schemas contain themselves. Nobody nests deeper than this. */
const deepest = 12;

const armsOf = (schema: Json): readonly unknown[] => (Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [schema]);

/** Each of the arms that must be covered by some other one. */
function uncovered(
  needed: readonly unknown[],
  {
    offered,
    covers,
    place,
  }: {
    readonly offered: readonly unknown[];
    readonly covers: (need: unknown, offer: unknown) => readonly string[];
    readonly place: string;
  },
): readonly string[] {
  return needed.flatMap((need) => {
    const faults = offered.map((offer) => covers(need, offer));
    if (faults.some((each) => each.length === 0)) return [];
    return faults.length === 1 ? (faults[0] ?? []) : [`${place}: one of its forms is another`];
  });
}

/** What was accepted must be accepted still. */
export const compareInput: Compare = (pair, old, now, place, depth) => {
  const [before, after] = [resolved(pair.before, old), resolved(pair.after, now)];
  if (depth > deepest) return [];
  if (before["anyOf"] !== undefined || after["anyOf"] !== undefined) {
    const covers = (need: unknown, offer: unknown) => compareInput(pair, need, offer, place, depth + 1);
    return uncovered(armsOf(before), { offered: armsOf(after), covers, place });
  }
  const faults = narrowed(before, after).map((fault) => `${place}: ${fault}`);
  const [wasTypes, types] = [typesOf(before), typesOf(after)];
  if (types !== undefined && (wasTypes === undefined || lacking(wasTypes, types).length > 0))
    faults.push(`${place}: no longer takes ${wasTypes === undefined ? "any type" : lacking(wasTypes, types).join()}`);
  const [wasValues, values] = [allowedValues(before), allowedValues(after)];
  if (values !== undefined) {
    const gone = wasValues?.filter((each) => !values.includes(each));
    if (gone === undefined) faults.push(`${place}: no longer takes any value`);
    else if (gone.length > 0) faults.push(`${place}: no longer takes ${gone.map(String).join()}`);
  }
  const [wasMembers, members] = [record(before["properties"]), record(after["properties"])];
  for (const [name, member] of Object.entries(wasMembers)) {
    const current = members[name];
    if (current !== undefined) faults.push(...compareInput(pair, member, current, below(place, name), depth + 1));
    else if (after["additionalProperties"] === false) faults.push(...goneFaults(pair, member, below(place, name)));
  }
  for (const name of list(after["required"]))
    if (!list(before["required"]).includes(name)) faults.push(`${below(place, String(name))}: is required now`);
  if (before["items"] !== undefined && after["items"] !== undefined)
    faults.push(...compareInput(pair, before["items"], after["items"], `${place}[]`, depth + 1));
  return faults;
};

/** What is answered must be what readers expect. Values may be added to an enumeration, and members to an object. */
export const compareOutput: Compare = (pair, old, now, place, depth) => {
  const [before, after] = [resolved(pair.before, old), resolved(pair.after, now)];
  if (depth > deepest) return [];
  if (before["anyOf"] !== undefined || after["anyOf"] !== undefined) {
    const covers = (need: unknown, offer: unknown) => compareOutput(pair, offer, need, place, depth + 1);
    return uncovered(armsOf(after), { offered: armsOf(before), covers, place });
  }
  const faults: string[] = [];
  const [wasTypes, types] = [typesOf(before), typesOf(after)];
  if (wasTypes !== undefined && (types === undefined || lacking(types, wasTypes).length > 0))
    faults.push(`${place}: may be ${types === undefined ? "of any type" : lacking(types, wasTypes).join()} now`);
  const [wasMembers, members] = [record(before["properties"]), record(after["properties"])];
  for (const [name, member] of Object.entries(wasMembers)) {
    const current = members[name];
    if (current === undefined) faults.push(...goneFaults(pair, member, below(place, name)));
    else faults.push(...compareOutput(pair, member, current, below(place, name), depth + 1));
  }
  for (const name of list(before["required"]))
    if (members[String(name)] !== undefined && !list(after["required"]).includes(name))
      faults.push(`${below(place, String(name))}: may be missing now`);
  if (before["items"] !== undefined && after["items"] !== undefined)
    faults.push(...compareOutput(pair, before["items"], after["items"], `${place}[]`, depth + 1));
  // What a text holds: server-sent events.
  if (before["contentSchema"] !== undefined)
    faults.push(...compareOutput(pair, before["contentSchema"], after["contentSchema"], place, depth + 1));
  return faults;
};

const parametersOf = (document: Json, operation: Json): ReadonlyMap<string, Json> =>
  new Map(
    list(operation["parameters"]).map((each) => {
      const parameter = resolved(document, each);
      return [`${String(parameter["in"])} ${String(parameter["name"])}`, parameter];
    }),
  );

function parameterFaults(pair: Pair, before: Json, after: Json): readonly string[] {
  const [was, is] = [parametersOf(pair.before, before), parametersOf(pair.after, after)];
  const gone = [...was].flatMap(([key, parameter]) => {
    const current = is.get(key);
    if (current === undefined) return goneFaults(pair, parameter["schema"], key);
    return compareInput(pair, parameter["schema"], current["schema"], key, 0);
  });
  const required = [...is].flatMap(([key, parameter]) =>
    parameter["required"] === true && was.get(key)?.["required"] !== true ? [`${key}: is required now`] : [],
  );
  return [...gone, ...required];
}

const schemaIn = (content: unknown): Json => record(record(Object.values(record(content))[0])["schema"]);

function bodyFaults(pair: Pair, before: Json, after: Json): readonly string[] {
  const [was, is] = [resolved(pair.before, before["requestBody"]), resolved(pair.after, after["requestBody"])];
  const required = is["required"] === true && was["required"] !== true ? ["body: is required now"] : [];
  if (was["content"] === undefined) return required;
  return [...required, ...compareInput(pair, schemaIn(was["content"]), schemaIn(is["content"]), "body", 0)];
}

const isSuccess = (status: string): boolean => /^[12]\d\d$/.test(status);
const isError = (status: string): boolean => /^[45]\d\d$/.test(status);

function answerFaults(pair: Pair, before: Json, after: Json): readonly string[] {
  return Object.entries(record(before["responses"])).flatMap(([status, answer]) => {
    if (!isSuccess(status)) return [];
    const was = resolved(pair.before, answer);
    const is = resolved(pair.after, record(after["responses"])[status]);
    if (Object.keys(is).length === 0) return [`${status}: is gone`];
    const headers = Object.keys(record(was["headers"]))
      .filter((name) => record(is["headers"])[name] === undefined)
      .map((name) => `${status}: header ${name} is gone`);
    const bodies = Object.entries(record(was["content"])).flatMap(([type, content]) => {
      const current = record(is["content"])[type];
      if (current === undefined) return [`${status}: ${type} is gone`];
      return compareOutput(pair, record(content)["schema"], record(current)["schema"], status, 0);
    });
    return [...headers, ...bodies];
  });
}

/** Errors of an operation by status, with the code where the document names it. */
const errorsIn = ({ responses }: Json): ReadonlyMap<string, string | undefined> =>
  new Map(
    Object.entries(record(responses)).flatMap(([status, answer]) => {
      const { $ref: reference } = record(answer);
      const code = typeof reference === "string" ? reference.split("/").at(-1) : undefined;
      return isError(status) ? [[status, code] as const] : [];
    }),
  );

/** An operation keeps its errors: one that is gone may have become another, and no client has reckoned with a new one. */
function errorFaults(before: Json, after: Json): readonly string[] {
  const [was, is] = [errorsIn(before), errorsIn(after)];
  const changed = [...was].flatMap(([status, code]) => {
    if (!is.has(status)) return [`${status}: is gone`];
    const now = is.get(status);
    return now === code ? [] : [`${status}: is ${now ?? "without a code"}, was ${code ?? "without a code"}`];
  });
  return [...changed, ...[...is.keys()].flatMap((status) => (was.has(status) ? [] : [`${status}: is an error now`]))];
}

function streamFaults(pair: Pair, before: Json, after: Json): readonly string[] {
  const [was, is] = [record(before["x-websocket"]), record(after["x-websocket"])];
  if (was["server"] === undefined) return [];
  return [
    ...compareInput(pair, was["client"], is["client"], "message", 0),
    ...compareOutput(pair, was["server"], is["server"], "frame", 0),
  ];
}

/** A sunset is a promise. */
function sunsetFaults({ "x-sunset": was }: Json, { "x-sunset": is }: Json): readonly string[] {
  return typeof was === "string" && typeof is === "string" && is < was ? [`its sunset is ${is}, was ${was}`] : [];
}

/**
 * What of an OpenAPI document would break clients that were written for an earlier one (docs/versioning.md): what is gone, what is
 * refused now, what may be missing or of another type in an answer.
 * @param today YYYY-MM-DD: what was deprecated and is past its sunset by then may be gone.
 */
export function breakingChanges(before: Json, after: Json, today: string): readonly string[] {
  const pair: Pair = { before, after, today };
  return Object.entries(record(before["paths"])).flatMap(([path, methods]) =>
    Object.entries(record(methods)).flatMap(([method, old]) => {
      const name = `${method.toUpperCase()} ${path}`;
      const [was, is] = [record(old), record(record(record(after["paths"])[path])[method])];
      if (Object.keys(is).length === 0) return goneFaults(pair, was, name);
      const named = ["operationId", "x-scope"].flatMap((key) =>
        was[key] === is[key] ? [] : [`${key} is ${String(is[key])}, was ${String(was[key])}`],
      );
      return [
        ...named,
        ...sunsetFaults(was, is),
        ...parameterFaults(pair, was, is),
        ...bodyFaults(pair, was, is),
        ...answerFaults(pair, was, is),
        ...errorFaults(was, is),
        ...streamFaults(pair, was, is),
      ].map((fault) => `${name}: ${fault}`);
    }),
  );
}
