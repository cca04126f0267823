import { build, type Schema } from "fast-json-stringify";

/** A serializer of answers that is compiled with the first: most runs of the service use few of its operations. */
function serializerOf({ schema }: { readonly schema?: unknown }): (answer: unknown) => string {
  let compiled: ((answer: unknown) => string) | undefined;
  return (answer) => {
    compiled ??= build(schema as Schema);
    return compiled(answer);
  };
}

/** How Fastify compiles schemas: it is given none of requests, which are checked by `validation.ts`. */
export const compilersFactory = {
  buildSerializer: () => serializerOf,
  buildValidator: () => () => () => {
    throw new Error("cannot check requests with Fastify");
  },
};
