import { Ajv, type ErrorObject, type SchemaObject, type ValidateFunction } from "ajv";
import { ownSchemas, parseTimestamp } from "#contract/schema.ts";
import { describeSchemaFault } from "#contract/schema-fault.ts";
import { DomainError } from "#domain/common/error.ts";

type HttpPart = "params" | "query" | "body";

const formats = { "date-time": (text: string) => parseTimestamp(text) !== undefined };

/** Fills in defaults; coerces and drops nothing: `"5"` in a body is not 5. */
const ajv = new Ajv({
  ...ownSchemas,
  useDefaults: true,
  allErrors: false,
  verbose: true,
  formats,
});

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

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The faulty member and the issue, in the words of the contract. */
function describeError(error: ErrorObject, part: HttpPart): { field: string; issue: string } {
  const path = error.instancePath.split("/").slice(1);
  // Of a parameter that is given several times no place is named.
  const at = part === "query" ? (path[0] ?? "") : path.join(".");
  // A parameter that is given twice is parsed as a list.
  const isRepeated = part === "query" && error.keyword === "type" && Array.isArray(error.data);
  if (isRepeated && error.schema !== "array") return { field: at || part, issue: "Must be given once" };
  const below = (name: unknown): string => (at === "" ? String(name) : `${at}.${String(name)}`);
  switch (error.keyword) {
    case "required":
      return { field: below(error.params["missingProperty"]), issue: "Required field missing" };
    case "additionalProperties":
      return {
        field: below(error.params["additionalProperty"]),
        issue: part === "query" ? "Unknown parameter" : "Unknown field",
      };
    default:
      return { field: at || part, issue: upperFirst(describeSchemaFault(error)) };
  }
}

/**
 * A check of one part of a request against its schema, which returns the value with defaults filled in and throws
 * VALIDATION_ERROR with `field` and `issue`.
 */
export function createPartCheck(part: HttpPart, schema: SchemaObject): (value: unknown) => unknown {
  // Compiled at first use: most runs use few operations.
  let compiled: ValidateFunction | undefined;
  const members: Readonly<Record<string, SchemaObject>> = schema["properties"] ?? {};
  return (value) => {
    const read = part === "body" ? (value === undefined ? {} : value) : readTexts(value, members);
    compiled ??= ajv.compile(schema);
    const validate = compiled;
    if (validate(read)) return read;
    const [error] = validate.errors ?? [];
    const { field, issue } = error === undefined ? { field: part, issue: "Is wrong" } : describeError(error, part);
    throw new DomainError("VALIDATION_ERROR", `cannot accept ${field}: ${issue}`, { field, issue });
  };
}

function readTexts(value: unknown, members: Readonly<Record<string, SchemaObject>>): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(value ?? {})) {
    const schema = Object.hasOwn(members, name) ? members[name] : undefined;
    read[name] = schema === undefined ? text : fromText(text, schema);
  }
  return read;
}
