type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null;

/** A value that a JSON schema of the contract mostly takes, with every member that it names. */
export function exampleOf(schema: unknown): unknown {
  if (!isSchema(schema)) return null;
  const { type, enum: allowed, const: only, default: usual, examples, anyOf, properties, items, minimum } = schema;
  if (only !== undefined) return only;
  if (usual !== undefined) return usual;
  if (Array.isArray(examples)) return examples[0] as unknown;
  if (Array.isArray(allowed)) return allowed[0] as unknown;
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0]);
  switch ([type].flat()[0]) {
    case "object":
      return Object.fromEntries(
        Object.entries(isSchema(properties) ? properties : {}).map(([name, member]) => [name, exampleOf(member)]),
      );
    case "array":
      return [exampleOf(items)];
    case "integer":
    case "number":
      return typeof minimum === "number" ? minimum : 1;
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return schema["format"] === "date-time" ? "2026-01-01T00:00:00Z" : "some";
  }
}
