import { Ajv, type AnySchemaObject, type ErrorObject, type SchemaObject, type ValidateFunction } from "ajv";
import type { InputFault } from "#contract/error-body.ts";
import { maxFaults } from "#contract/limits.ts";
import { ownSchemas } from "#contract/schema.ts";
import { describeSchemaFault } from "#contract/schema-fault.ts";
import { DomainError } from "#domain/common/error.ts";
import { parseTimestamp } from "#kernel/clock.ts";
import { closestName } from "#kernel/closest.ts";
import { lowerFirst, upperFirst } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { keyNotInQuery } from "./admission.ts";

type HttpPart = "params" | "query" | "body";

const formats = { "date-time": (text: string) => parseTimestamp(text) !== undefined };

/** Fills in defaults; coerces and drops nothing: `"5"` in a body is not 5. */
const options = { ...ownSchemas, useDefaults: true, verbose: true, formats } as const;
const ajv = new Ajv({ ...options, allErrors: false });
/** For input that was refused already: it costs memory for each fault. */
const thorough = new Ajv({ ...options, allErrors: true });

/** Values in a body of which all faults are looked for; of larger ones only the first is named. */
const maxInspected = 2_000;

const integerText = /^-?\d{1,15}$/;
const numberText = /^-?\d{1,15}(\.\d{1,15})?$/;

/** Text of a path or query as the type of its schema; unchanged when it is not of that type. */
function fromText(value: unknown, schema: SchemaObject): unknown {
  if (typeof value !== "string") return value;
  switch (schema["type"]) {
    case "integer":
      return integerText.test(value) ? Number(value) : value;
    case "number":
      return numberText.test(value) ? Number(value) : value;
    case "array":
      return [value];
    case "boolean":
      return value === "true" ? true : value === "false" ? false : value;
    default:
      return value;
  }
}

const secretLike = /[0-9A-Za-z_]{43,}/g;
const maxNameLength = 128;

/** A name that a client made up: without what looks like a key that was put in its place, and in a bounded length. */
function shownName(name: string): string {
  const plain = name.replaceAll(secretLike, "[secret]");
  return plain.length > maxNameLength ? `${plain.slice(0, maxNameLength)}…` : plain;
}

type Members = Readonly<Record<string, SchemaObject>>;

const membersOf = (schema: AnySchemaObject | undefined): Members => schema?.["properties"] ?? {};

function unknownName(name: string, at: string, issue: string, members: Members): InputFault {
  const field = at === "" ? shownName(name) : `${at}.${shownName(name)}`;
  return { field, issue, ...defined({ did_you_mean: closestName(name, Object.keys(members)) }) };
}

/** The faulty member and the issue, in the words of the contract. */
function describeError(error: ErrorObject, part: HttpPart): InputFault {
  const path = error.instancePath.split("/").slice(1).map(shownName);
  // Of a parameter that is given several times no place is named.
  const at = part === "query" ? (path[0] ?? "") : path.join(".");
  // A parameter that is given twice is parsed as a list.
  const isRepeated = part === "query" && error.keyword === "type" && Array.isArray(error.data);
  if (isRepeated && error.schema !== "array") return { field: at || part, issue: "Must be given once" };
  switch (error.keyword) {
    case "required": {
      const name = String(error.params["missingProperty"]);
      return { field: at === "" ? name : `${at}.${name}`, issue: "Required field missing" };
    }
    case "additionalProperties": {
      const name = String(error.params["additionalProperty"]);
      return unknownName(name, at, "Unknown field", membersOf(error.parentSchema));
    }
    default:
      return { field: at || part, issue: upperFirst(describeSchemaFault(error)) };
  }
}

const inner = (value: unknown): readonly unknown[] =>
  typeof value === "object" && value !== null ? Object.values(value) : [];

function isSmall(value: unknown): boolean {
  const pending = [value];
  for (let seen = 0; seen < maxInspected; seen += 1) {
    if (pending.length === 0) return true;
    const next = inner(pending.pop());
    if (next.length > maxInspected) return false;
    pending.push(...next);
  }
  return false;
}

/** Where in the input a fault is, as the numbers of the members on the way to it; a missing member comes last. */
function placeOf({ instancePath, params }: ErrorObject, root: unknown): readonly number[] {
  const path = instancePath.split("/").slice(1);
  const name: unknown = params["additionalProperty"] ?? params["missingProperty"];
  let at = root;
  return [...path, ...(typeof name === "string" ? [name] : [])].map((step) => {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    const found = typeof at === "object" && at !== null ? Object.keys(at).indexOf(key) : -1;
    at = found < 0 ? undefined : (at as Readonly<Record<string, unknown>>)[key];
    return found < 0 ? Number.POSITIVE_INFINITY : found;
  });
}

function comparePlaces(one: readonly number[], other: readonly number[]): number {
  for (const [at, number] of one.entries()) {
    const difference = number - (other[at] ?? -1);
    if (difference !== 0 && !Number.isNaN(difference)) return difference;
  }
  return one.length - other.length;
}

const inOrder = (errors: readonly ErrorObject[], root: unknown): readonly ErrorObject[] =>
  errors
    .map((error) => [placeOf(error, root), error] as const)
    .sort(([one], [other]) => comparePlaces(one, other))
    .map(([, error]) => error);

/** Distinct faults, the first ones of too many. */
function distinct(faults: Iterable<InputFault>): readonly InputFault[] {
  const found = new Map<string, InputFault>();
  for (const fault of faults) {
    const key = `${fault.field}\0${fault.issue}`;
    if (!found.has(key)) found.set(key, fault);
    if (found.size === maxFaults) break;
  }
  return [...found.values()];
}

/** What is wrong with a part of a request, at least one fault. */
class Faulty {
  readonly faults: readonly InputFault[];

  constructor(faults: readonly InputFault[]) {
    this.faults = faults;
  }
}

/** @throws DomainError VALIDATION_ERROR that names all faults, where a part of the request has any. */
export function refuseFaults(parts: readonly unknown[]): void {
  const found = parts.flatMap((part) => (part instanceof Faulty ? part.faults : []));
  const [first] = found;
  if (first === undefined) return;
  const { field, issue, did_you_mean: meant } = first;
  const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  const details = { field, issue, faults: found.slice(0, maxFaults) };
  throw new DomainError("VALIDATION_ERROR", `cannot accept ${field}: ${lowerFirst(issue)}${hint}`, details);
}

/** Names without meaning to this service: those that begin with it are for anyone who sends or forwards the request. */
const ignoredPrefix = "_";

/** The parameters of a query that a schema knows, and faults for those that it does not. */
function knownParameters(value: unknown, members: Members) {
  const known: Record<string, unknown> = {};
  const unknown: InputFault[] = [];
  for (const [name, text] of Object.entries(value ?? {})) {
    if (name.startsWith(ignoredPrefix)) continue;
    const schema = Object.hasOwn(members, name) ? members[name] : undefined;
    if (schema !== undefined) known[name] = fromText(text, schema);
    else if (name === "api_key") unknown.push({ field: name, issue: upperFirst(keyNotInQuery) });
    else if (unknown.length < maxFaults) unknown.push(unknownName(name, "", "Unknown parameter", members));
  }
  return { known, unknown };
}

function readPart(part: HttpPart, value: unknown, members: Members) {
  if (part === "body") return { known: value === undefined ? {} : value, unknown: [] };
  if (part === "query") return knownParameters(value, members);
  const texts = Object.entries(value ?? {});
  return {
    known: Object.fromEntries(texts.map(([name, text]) => [name, fromText(text, members[name] ?? {})])),
    unknown: [],
  };
}

/**
 * A check of one part of a request against its schema. It returns the value with defaults filled in, or its faults for
 * {@link refuseFaults}: first the one that the part is refused for, then the others in the order of the input.
 */
export function createPartCheck(part: HttpPart, schema: SchemaObject): (value: unknown) => unknown {
  // Compiled at first use: most runs use few operations.
  let compiled: ValidateFunction | undefined;
  let compiledForAll: ValidateFunction | undefined;
  const members = membersOf(schema);

  const othersIn = (value: unknown): readonly ErrorObject[] => {
    if (part === "body" && !isSmall(value)) return [];
    compiledForAll ??= thorough.compile(schema);
    compiledForAll(value);
    return inOrder(compiledForAll.errors ?? [], value);
  };
  const faultsIn = (value: unknown): readonly InputFault[] => {
    const [first] = compiled?.errors ?? [];
    return first === undefined ? [] : [first, ...othersIn(value)].map((error) => describeError(error, part));
  };
  return (value) => {
    const { known, unknown } = readPart(part, value, members);
    compiled ??= ajv.compile(schema);
    if (compiled(known) && unknown.length === 0) return known;
    return new Faulty(distinct([...unknown, ...faultsIn(known)]));
  };
}
