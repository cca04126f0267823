import { build, type Schema } from "fast-json-stringify";

/** Makes JSON of an answer by its schema. */
export type Serializer = (answer: unknown) => string;

/** A serializer that is compiled with the first answer: most runs of the service use few of its operations. */
export function createSerializer(schema: object): Serializer {
  let compiled: Serializer | undefined;
  return (answer) => {
    compiled ??= build(schema as Schema);
    return compiled(answer);
  };
}
