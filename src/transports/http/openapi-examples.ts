import type { TSchema } from "typebox";
import { exampleTime, exampleValues } from "./openapi-example-values.ts";

type Json = Readonly<Record<string, unknown>>;

/** Members of requests that exclude another one. */
const leftOut = new Set(["SilenceInput.check", "SessionInput.code", "SessionInput.passkey"]);

const formats: Json = { "date-time": exampleTime, date: "2026-01-31" };

/** Times that are null in the usual case: nothing has ended. */
const isUsuallyNull = (name: string): boolean => /expires|revoked|ended|finished|reboot/.test(name);

interface Place {
  readonly resource: string;
  readonly member: string;
}

/** Makes examples; `nameOf` gives the name of a schema that is a resource. */
export function createExamples(nameOf: (schema: unknown) => string | undefined) {
  const known = ({ resource, member }: Place): unknown =>
    Object.hasOwn(exampleValues, `${resource}.${member}`)
      ? exampleValues[`${resource}.${member}`]
      : exampleValues[member];

  function ofObject(schema: Json, place: Place, isInput: boolean): unknown {
    const { properties = {}, required = [] } = schema as { properties?: Json; required?: readonly string[] };
    const shown = Object.keys(properties).filter(
      (name) => !leftOut.has(`${place.resource}.${name}`) && (isInput || required.includes(name)),
    );
    return Object.fromEntries(
      shown.map((member) => [member, of(properties[member] as Json, { ...place, member }, isInput)]),
    );
  }

  function ofNumber({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: Json, place: Place): number {
    const value = known(place);
    const number = typeof value === "number" ? value : 0;
    return Math.min(Math.max(number, Number(minimum)), Number(maximum));
  }

  function ofType(type: unknown, schema: Json, place: Place, isInput: boolean): unknown {
    const value = known(place);
    switch (type) {
      case "object":
        return ofObject(schema, place, isInput);
      case "array":
        return ofArray(schema, place, isInput);
      case "boolean":
        return value === true;
      case "integer":
        return Math.round(ofNumber(schema, place));
      case "number":
        return ofNumber(schema, place);
      case "string":
        return formats[String(schema["format"])] ?? (typeof value === "string" ? value : "");
      default:
        return null;
    }
  }

  /** One item; none where the items are text of which no example is known. */
  function ofArray({ items, minItems = 0 }: Json, place: Place, isInput: boolean): readonly unknown[] {
    const item = of(items as Json, place, isInput);
    return item === "" && minItems === 0 ? [] : [item];
  }

  const isNullable = ({ type, anyOf }: Json): boolean =>
    [type, anyOf].flat().some((each) => each === "null" || (each as Json | undefined)?.["type"] === "null");

  /** Null where nothing better is known. */
  function ofNullable({ type, anyOf, format }: Json, place: Place): boolean {
    if (isUsuallyNull(place.member)) return true;
    const first = Array.isArray(anyOf) ? (anyOf[0] as Json)["type"] : [type].flat()[0];
    const isPlain = first !== "object" && first !== "array" && format === undefined;
    return isPlain ? known(place) === undefined || known(place) === null : known(place) === null;
  }

  function of(schema: Json, outer: Place, isInput: boolean): unknown {
    const place = { ...outer, resource: nameOf(schema) ?? outer.resource };
    const { examples, const: constant, enum: choices, anyOf, default: preset, type } = schema;
    const value = known(place);
    if (isNullable(schema) && ofNullable(schema, place)) return null;
    if (constant !== undefined) return constant;
    if (Array.isArray(examples)) return examples[0];
    if (Array.isArray(choices)) return choices.includes(value) ? value : (preset ?? choices[0]);
    if (Array.isArray(anyOf)) return of(anyOf[0] as Json, place, isInput);
    if (preset !== undefined && value === undefined) return preset;
    return ofType([type].flat()[0], schema, place, isInput);
  }

  return {
    /** An answer with the members that are always there. */
    ofAnswer: (schema: TSchema): unknown => of(schema as Json, { resource: "", member: "" }, false),
    /** A request with all of its members. */
    ofRequest: (schema: TSchema): unknown => of(schema as Json, { resource: "", member: "" }, true),
  };
}
