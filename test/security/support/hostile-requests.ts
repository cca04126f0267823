import type { TSchema } from "typebox";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";

/** One place in the input of an operation where a client may write text. */
export interface Place {
  readonly operation: string;
  /** `query.unit`, `body.packages.0` */
  readonly name: string;
  /** Whether the schema leaves no space for hostile text: a number, a closed list, a pattern. */
  readonly isClosed: (text: string) => boolean;
  /** The request with the text in this place and good values in all others. */
  readonly request: (text: string) => HostileRequest;
}

export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

type Schema = Readonly<Record<string, unknown>>;
type Path = readonly (string | number)[];

/** Bodies of the operations that need members: the least that is taken. */
export const leastBodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  chat: { messages: [{ role: "user", content: "Hello" }] },
  createKey: { name: "hostile", scopes: [] },
  silenceAlert: { alert: "DiskSpaceLow", until: new Date(Date.now() + 3_600_000).toISOString() },
};

const membersOf = (schema: Schema): readonly (readonly [string, Schema])[] =>
  Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, Schema>>);

/** Every leaf of a schema; of a list its first entry. */
function leavesOf(schema: Schema, path: Path = []): readonly { readonly path: Path; readonly schema: Schema }[] {
  const choices = schema["anyOf"] as readonly Schema[] | undefined;
  if (choices?.some((choice) => choice["type"] === "object")) {
    return choices.flatMap((choice) => leavesOf(choice, path));
  }
  if (schema["type"] === "array") return leavesOf(schema["items"] as Schema, [...path, 0]);
  const members = membersOf(schema);
  if (members.length > 0) return members.flatMap(([name, member]) => leavesOf(member, [...path, name]));
  return [{ path, schema }];
}

/** Whether a leaf refuses a text by its schema. */
function refuses(schema: Schema, text: string): boolean {
  const choices = schema["anyOf"] as readonly Schema[] | undefined;
  if (choices !== undefined) return choices.every((choice) => refuses(choice, text));
  if (Array.isArray(schema["enum"])) return !schema["enum"].includes(text);
  if (schema["const"] !== undefined) return schema["const"] !== text;
  if (schema["type"] !== "string") return schema["type"] !== undefined;
  const { pattern, maxLength } = schema;
  if (typeof pattern === "string" && !new RegExp(pattern, "u").test(text)) return true;
  return schema["format"] === "date-time" || (typeof maxLength === "number" && Array.from(text).length > maxLength);
}

/** A copy of a value with something else at a path. */
function withAt(value: unknown, [step, ...rest]: Path, text: unknown): unknown {
  if (step === undefined) return text;
  if (typeof step === "number") {
    const list = Array.isArray(value) ? [...(value as readonly unknown[])] : [];
    list[step] = withAt(list[step], rest, text);
    return list;
  }
  const members = typeof value === "object" && value !== null ? value : {};
  const before = (members as Readonly<Record<string, unknown>>)[step];
  return { ...members, [step]: withAt(before, rest, text) };
}

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());
/** Every byte as an escape: `-h` is then `%2d%68`. */
const fullyEncoded = (text: string): string =>
  [...Buffer.from(text.toWellFormed(), "utf8")].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

const address = ({ base, path }: Operation, fill: (name: string) => string): string =>
  `${base === "root" ? "" : apiBase}${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => fill(name))}`;

/** Operations that a text need not be refused for, and that would end the machine: of these a plan is enough. */
const onlyPlanned: readonly string[] = ["rebootHost"];

function placesOf(name: string, operation: Operation): readonly Place[] {
  const { method } = operation;
  const good = (parameter: string): string => {
    const schema = membersOf(operation.params as unknown as Schema).find(([each]) => each === parameter)?.[1];
    const [example] = (schema?.["examples"] ?? []) as readonly string[];
    return example ?? "none";
  };
  const least = operation.body === undefined ? undefined : (leastBodies[name] ?? {});
  const plan = onlyPlanned.includes(name) ? "?dry_run=true" : "";
  const path = `${address(operation, good)}${plan}`;
  const asBody = (value: unknown): Pick<HostileRequest, "headers" | "body"> =>
    value === undefined
      ? { headers: {}, body: undefined }
      : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
  const parts = (schema: TSchema | undefined) => leavesOf((schema ?? {}) as unknown as Schema);

  const params = (operation.params === undefined ? [] : parts(operation.params)).flatMap(({ path: [member = ""] }) =>
    [encoded, fullyEncoded].map((encode, at) => ({
      operation: name,
      name: `params.${member}${at === 0 ? "" : " (every byte escaped)"}`,
      isClosed: () => false,
      request: (text: string) => ({
        method,
        path: address(operation, (each) => (each === member ? encode(text) : good(each))),
        ...asBody(least),
      }),
    })),
  );
  const query = (operation.query === undefined ? [] : parts(operation.query)).map(
    ({ path: [member = ""], schema }) => ({
      operation: name,
      name: `query.${member}`,
      isClosed: (text: string) =>
        schema["type"] === "string" || schema["anyOf"] !== undefined ? refuses(schema, text) : true,
      request: (text: string) => ({
        method,
        path: `${path}${plan === "" ? "?" : "&"}${member}=${encoded(text)}`,
        ...asBody(least),
      }),
    }),
  );
  const body = (operation.body === undefined ? [] : parts(operation.body)).map(({ path: at, schema }) => ({
    operation: name,
    name: `body.${at.join(".")}`,
    isClosed: (text: string) => refuses(schema, text),
    request: (text: string) => ({ method, path, ...asBody(withAt(least, at, text)) }),
  }));
  const unknownMember = {
    operation: name,
    name: "body.(a name)",
    isClosed: () => operation.effect !== "read",
    request: (text: string) => ({ method, path, ...asBody({ ...least, [text]: text }) }),
  };
  return [...params, ...query, ...body, ...(operation.effect === "read" ? [] : [unknownMember])];
}

/** Headers that a client writes text into and that the service reads. */
const readHeaders = ["Idempotency-Key", "Prefer", "traceparent", "tracestate", "X-Request-Id", "User-Agent", "Accept"];

/** Every place of every operation, from the table: a new operation is in it by itself. */
export const places: readonly Place[] = [
  ...Object.entries<Operation>(operations).flatMap(([name, operation]) => placesOf(name, operation)),
  ...readHeaders.map((header) => ({
    operation: "createToken",
    name: `header ${header}`,
    isClosed: () => false,
    request: (text: string) => ({
      method: "POST",
      path: `${apiBase}/auth/tokens`,
      // A header holds no line ends and nothing beyond Latin-1: those cannot even be sent.
      headers: { "Content-Type": "application/json", [header]: text.replaceAll(/[^\x20-\x7e]/g, "") },
      body: "{}",
    }),
  })),
];
