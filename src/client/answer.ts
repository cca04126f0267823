import type { TSchema } from "typebox";
import { Approval } from "#contract/approvals.ts";
import { type Operation, Plan } from "#contract/operation.ts";
import { OperationEntry } from "#contract/operation-entry.ts";
import { isRecord } from "#kernel/values.ts";
import { ApiError, WaitsForApproval } from "./errors.ts";

type Schema = Readonly<Record<string, unknown>>;

const jsonType = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
};

const isOfType = (kind: string, type: unknown): boolean => kind === type || (kind === "integer" && type === "number");

function typesOf(schema: Schema): readonly unknown[] | undefined {
  if (schema["type"] !== undefined) return [schema["type"]].flat();
  if (Array.isArray(schema["enum"])) return schema["enum"].map(jsonType);
  return "const" in schema ? [jsonType(schema["const"])] : undefined;
}

interface Mismatch {
  readonly path: string;
  readonly problem: string;
}

const below = (path: string, name: string | number): string => (path === "" ? String(name) : `${path}.${name}`);

function firstOf<T>(items: Iterable<T>, find: (item: T) => Mismatch | undefined): Mismatch | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function memberMismatch(schema: Schema, value: Readonly<Record<string, unknown>>, path: string): Mismatch | undefined {
  const { properties = {}, required = [], patternProperties = {}, additionalProperties } = schema;
  const missing = (required as readonly string[]).find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return { path: below(path, missing), problem: "missing" };
  const known = properties as Readonly<Record<string, Schema>>;
  const [others = additionalProperties] = Object.values(patternProperties as Readonly<Record<string, Schema>>);
  return firstOf(Object.entries(value), ([name, member]) => {
    const own = Object.hasOwn(known, name) ? known[name] : others;
    return isRecord(own) ? findMismatch(own, member, below(path, name)) : undefined;
  });
}

/**
 * Compares a value with a schema as far as readers depend on it: types, members, items, dates. Enumerations and bounds are not
 * compared: a later version of the service may extend them.
 */
function findMismatch(schema: Schema, value: unknown, path: string): Mismatch | undefined {
  if (Array.isArray(schema["anyOf"])) {
    const arms = (schema["anyOf"] as readonly Schema[]).map((arm) => findMismatch(arm, value, path));
    // The arm with the deepest mismatch is most likely the intended one.
    return arms.includes(undefined)
      ? undefined
      : arms.reduce((one, other) => ((other?.path.length ?? 0) > (one?.path.length ?? 0) ? other : one));
  }
  const kind = jsonType(value);
  const types = typesOf(schema);
  if (types?.some((type) => isOfType(kind, type)) === false || isRecord(schema["not"]))
    return { path, problem: `expected ${types?.join(" or ") ?? "nothing"}` };
  if (kind === "string" && schema["format"] === "date-time" && Number.isNaN(Date.parse(String(value))))
    return { path, problem: "expected a date" };
  const { items } = schema;
  if (Array.isArray(value) && isRecord(items))
    return firstOf(value.entries(), ([at, item]) => findMismatch(items, item, below(path, at)));
  return isRecord(value) ? memberMismatch(schema, value, path) : undefined;
}

/** The first difference of a value from a schema, in words. */
export function describeMismatch(schema: TSchema, value: unknown): string | undefined {
  const found = findMismatch(schema as unknown as Schema, value, "");
  return found && `${found.path === "" ? "" : `${found.path}: `}${found.problem}`;
}

/** The error for an answer, or a part of one, that is not from Steward. */
export function notAnAnswer(response: Pick<Response, "status" | "headers"> | undefined, why: string): ApiError {
  return new ApiError({
    code: "UNREADABLE",
    message: `cannot read the answer: it is not an answer of Steward (${why})`,
    status: response?.status ?? 0,
    requestId: response?.headers.get("X-Request-Id") ?? undefined,
  });
}

type Head = Pick<Response, "status" | "headers">;

/** @throws ApiError for text that is not JSON. */
export function parseJson(text: string, response?: Head): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notAnAnswer(response, "it is not JSON");
  }
}

/** @throws ApiError for text that does not match the schema. */
export function parseAs(schema: TSchema, text: string, response?: Head): unknown {
  const value = parseJson(text, response);
  const mismatch = describeMismatch(schema, value);
  if (mismatch !== undefined) throw notAnAnswer(response, mismatch);
  return value;
}

const acceptedStatus = 202;

/** Whether the answer is that the call waits for the approval of others. */
const isParked = ({ effect }: Operation, { status, headers }: Head): boolean =>
  effect !== "read" && status === acceptedStatus && headers.get("Location")?.includes("/approvals/") === true;

export const isAccepted = (operation: Operation, response: Head): boolean =>
  operation.outlives === true && response.status === acceptedStatus && !isParked(operation, response);

/**
 * Reads an answer: text, JSON as the table says, or a plan for a dry run. One of any length is left to be read; reading it throws
 * where the service cannot continue.
 * @throws ApiError when it is something else, WaitsForApproval for a call that waits for the approval of others.
 */
export async function readAnswer(
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  response: Response,
): Promise<unknown> {
  if (operation.mediaTypes !== undefined) return response.body ?? new ReadableStream();
  const text = await response.text();
  if (operation.mediaType !== undefined) return text;
  const { query } = input;
  const isDryRun = isRecord(query) && query["dry_run"] === true;
  if (isParked(operation, response)) throw new WaitsForApproval(parseAs(Approval, text, response) as Approval);
  const schema = isAccepted(operation, response) ? OperationEntry : isDryRun ? Plan : operation.response;
  return parseAs(schema, text, response);
}
