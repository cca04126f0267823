import { isRecord, type JsonObject } from "#kernel/values.ts";

/** A violation of a schema, as a validator of JSON Schema reports it. */
export interface SchemaFault {
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The schema that has the keyword. */
  readonly parentSchema?: object;
}

const typeNames: Readonly<Record<string, string>> = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
  null: "null",
};

const listed = (value: unknown): readonly string[] => [value ?? []].flat().map(String);

function describePattern({ parentSchema }: SchemaFault): string {
  const { examples, pattern }: JsonObject = isRecord(parentSchema) ? parentSchema : {};
  const [example] = listed(examples);
  if (example !== undefined) return `must look like "${example}"`;
  const isOfCharacters = /^\^\[\^[^\]]*\][*+]\$$/.test(String(pattern));
  return isOfCharacters ? "must not have control characters" : "has an invalid format";
}

function describeCount(limit: unknown, what: string, which: "least" | "most"): string {
  if (which === "least" && limit === 1) return "must not be empty";
  return `must have at ${which} ${String(limit)} ${what}${limit === 1 ? "" : "s"}`;
}

/** What is wrong with a value, for people: `must be an integer`, without words of schemas or regular expressions. */
export function describeSchemaFault(fault: SchemaFault): string {
  const { keyword, params } = fault;
  const limit = params["limit"];
  switch (keyword) {
    case "type":
      return `must be ${listed(params["type"])
        .flatMap((types) => types.split(","))
        .map((type) => typeNames[type] ?? type)
        .join(" or ")}`;
    case "enum":
    case "const":
      return `must be one of ${listed(params["allowedValues"] ?? params["allowedValue"]).join(", ")}`;
    case "format":
      return "must be an RFC 3339 time such as 2026-01-31T12:00:00Z";
    case "pattern":
      return describePattern(fault);
    case "minimum":
      return `must be at least ${String(limit)}`;
    case "maximum":
      return `must be at most ${String(limit)}`;
    case "minLength":
      return describeCount(limit, "character", "least");
    case "maxLength":
      return describeCount(limit, "character", "most");
    case "minItems":
      return describeCount(limit, "item", "least");
    case "maxItems":
      return describeCount(limit, "item", "most");
    case "uniqueItems":
      return "must not have duplicate items";
    case "required":
      return `must have ${String(params["missingProperty"])}`;
    case "additionalProperties":
      return `must not have ${String(params["additionalProperty"])}`;
    default:
      return "has an invalid format";
  }
}
