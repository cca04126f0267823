import { Ajv, type ValidateFunction } from "ajv";
import { ownSchemas, parseTimestamp } from "#contract/schema.ts";

const formats = { "date-time": (text: string) => parseTimestamp(text) !== undefined };

/** Checks a value against a schema of the contract. */
export const createValidator = <T>(schema: object): ValidateFunction<T> =>
  new Ajv({ ...ownSchemas, formats }).compile<T>(schema);
