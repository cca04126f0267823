import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Plugin } from "esbuild";
import { isRecord } from "#kernel/values.ts";
import { root } from "../project.ts";

type Json = Readonly<Record<string, unknown>>;

const jsonType = (value: unknown): string => {
  if (value === null) return "null";
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
};

const typesOf = (values: readonly unknown[]) => {
  const types = [...new Set(values.map(jsonType))];
  return { type: types.length === 1 ? types[0] : types };
};

const mapValues = (record: Json, change: (value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));

/** A schema as far as the client compares answers with it: types and members, without bounds, texts and values. */
function slimSchema(schema: unknown): Json {
  if (!isRecord(schema)) return {};
  const { type, anyOf, items, properties, required, patternProperties, additionalProperties, format, not } = schema;
  const { enum: values } = schema;
  return {
    ...(type !== undefined && { type }),
    ...(type === undefined && Array.isArray(values) && typesOf(values)),
    ...(type === undefined && "const" in schema && typesOf([schema["const"]])),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(slimSchema) }),
    ...(isRecord(items) && { items: slimSchema(items) }),
    ...(isRecord(properties) && { properties: mapValues(properties, slimSchema) }),
    ...(Array.isArray(required) && required.length > 0 && { required }),
    ...(isRecord(patternProperties) && { patternProperties: mapValues(patternProperties, slimSchema) }),
    ...(isRecord(additionalProperties) && { additionalProperties: slimSchema(additionalProperties) }),
    ...(format === "date-time" && { format }),
    ...(isRecord(not) && { not: {} }),
  };
}

const pick = (row: Json, names: readonly string[]): Json =>
  Object.fromEntries(names.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])));

/** What the client needs of a row of the operations table. */
const slimOperation = (row: unknown): Json => ({
  ...pick(row as Json, ["method", "path", "base", "mediaType", "outlives"]),
  response: slimSchema((row as Json)["response"]),
});

const slimStream = (row: unknown): Json => ({
  ...pick(row as Json, ["path"]),
  serverFrame: slimSchema((row as Json)["serverFrame"]),
});

/** How exports that are no schemas become smaller. */
const tables: Readonly<Record<string, (row: unknown) => Json>> = { operations: slimOperation, streams: slimStream };

const isSchema = (value: unknown): boolean => isRecord(value) && ("~kind" in value || "type" in value);

/** Most schemas are of these two kinds. */
const prelude = [
  "const object=(properties,optional=[])=>({type:'object',properties,required:Object.keys(properties).filter((name)=>!optional.includes(name))});",
  "const array=(items)=>({type:'array',items});",
].join("\n");

/** JavaScript for data, in which an object that occurs several times is written once. */
class Writer {
  readonly #names = new Map<string, string>();
  readonly #lines: string[] = [];

  /** The name of an object, else its text. */
  text(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.text(item)).join()}]`;
    if (!isRecord(value)) return JSON.stringify(value);
    const text = this.#schema(value) ?? this.#members(value);
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const name = `s${this.#names.size}`;
    this.#names.set(text, name);
    this.#lines.push(`const ${name}=${text};`);
    return name;
  }

  lines = (): string => [prelude, ...this.#lines].join("\n");

  #members(value: Json): string {
    return `{${Object.entries(value)
      .map(([name, member]) => `${JSON.stringify(name)}:${this.text(member)}`)
      .join()}}`;
  }

  #schema({ type, properties, required = [], items, ...rest }: Json): string | undefined {
    if (Object.keys(rest).length > 0) return undefined;
    if (type === "array" && isRecord(items)) return `/*@__PURE__*/array(${this.text(items)})`;
    if (type !== "object" || !isRecord(properties) || !Array.isArray(required)) return undefined;
    const optional = Object.keys(properties).filter((name) => !required.includes(name));
    const tail = optional.length > 0 ? `,${JSON.stringify(optional)}` : "";
    return `/*@__PURE__*/object(${this.#members(properties)}${tail})`;
  }
}

/** The data that a module of the contract exports. Functions are left out: anyone who needs one fails to build. */
async function dataOf(path: string): Promise<string> {
  const writer = new Writer();
  const lines: string[] = [];
  for (const [name, value] of Object.entries((await import(pathToFileURL(path).href)) as Json)) {
    if (typeof value === "function") continue;
    const table = tables[name];
    const slim = table !== undefined ? mapValues(value as Json, table) : isSchema(value) ? slimSchema(value) : value;
    lines.push(`export const ${name}=${writer.text(slim)};`);
  }
  return `${writer.lines()}\n${lines.join("\n")}`;
}

const contract = join(root, "src/contract");

/** Replaces modules of the contract that make schemas by what the client needs of them, so that the package needs no library. */
export const slimContract: Plugin = {
  name: "slim-contract",
  setup(build) {
    build.onLoad({ filter: new RegExp(`^${contract}/[^/]+\\.ts$`) }, async ({ path }) => {
      // What makes no schemas is as small as it can be.
      if (!/ from "(?:typebox|\.\/\S+)"/.test(readFileSync(path, "utf8"))) return undefined;
      return { contents: await dataOf(path), loader: "js" };
    });
  },
};
