import { Ajv2020 } from "ajv/dist/2020.js";
import type { RawAnswer } from "./raw-socket.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly schema: JsonSchema;
}

interface Reference {
  readonly $ref: string;
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, unknown>>;
  readonly security: readonly Readonly<Record<string, unknown>>[];
}

/** As much of an OpenAPI document as the tests read. */
export interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

/** One operation as the document has it. */
export interface Documented {
  readonly name: string;
  readonly method: string;
  /** `/api/v1/auth/keys/{id}` */
  readonly template: string;
  readonly parameters: readonly Parameter[];
  readonly body: JsonSchema | undefined;
  readonly statuses: readonly number[];
  /** Some callers need no key. */
  readonly isOpen: boolean;
}

/** What a reference leads to; other values as they are. */
function resolved(document: OpenapiDocument, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("$ref" in value)) return value;
  const path = String(value.$ref).slice(2).split("/");
  return path.reduce<unknown>((node, name) => (node as Readonly<Record<string, unknown>>)[name], document);
}

export function operationsOf(document: OpenapiDocument): readonly Documented[] {
  return Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: operation.operationId,
      method: method.toUpperCase(),
      template,
      parameters: (operation.parameters ?? []).map((each) => resolved(document, each) as Parameter),
      body: resolved(document, operation.requestBody?.content["application/json"]?.schema) as JsonSchema | undefined,
      statuses: Object.keys(operation.responses).map(Number),
      isOpen: operation.security.length === 0 || operation.security.some((choice) => Object.keys(choice).length === 0),
    })),
  );
}

/** RFC 3339 §5.6, as far as a pattern goes. */
const rfc3339 =
  /^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** A step of a JSON pointer. */
const step = (name: string): string => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));

/**
 * Checks answers against the document.
 * @returns what is wrong, undefined when the document allows the answer.
 */
export function createAnswerCheck(document: OpenapiDocument) {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, formats: { "date-time": rfc3339 } });
  ajv.addSchema({ $id: "document", ...document });

  const resolve = (value: unknown): { pointer?: string; content?: Readonly<Record<string, unknown>> } => {
    const ref = typeof value === "object" && value !== null && "$ref" in value ? String(value.$ref) : undefined;
    if (ref === undefined) return value as { content?: Readonly<Record<string, unknown>> };
    return { pointer: ref, ...(resolved(document, value) as object) };
  };

  return ({ name, method, template }: Documented, answer: RawAnswer, isHead = false): string | undefined => {
    const { status, headers, body } = answer;
    const described = document.paths[template]?.[method.toLowerCase()]?.responses[String(status)];
    if (described === undefined) return `${name}: status ${status} is not in the document: ${body.slice(0, 300)}`;
    const { pointer, content = {} } = resolve(described);
    const mediaType = headers["content-type"]?.split(";")[0]?.trim() ?? "";
    if (content[mediaType] === undefined) return `${name}: ${status} with content type ${mediaType}`;
    if (mediaType !== "application/json" || isHead) return undefined;
    const at = pointer ?? `#/paths/${step(template)}/${method.toLowerCase()}/responses/${status}`;
    const validate = ajv.getSchema(`document${at}/content/${step(mediaType)}/schema`);
    if (validate === undefined) return `${name}: the document has no schema at ${at}`;
    if (validate(JSON.parse(body)) === true) return undefined;
    return `${name}: ${status} breaks the document: ${ajv.errorsText(validate.errors)}: ${body.slice(0, 300)}`;
  };
}
