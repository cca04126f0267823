import { type Static, Type } from "typebox";
import { type ErrorCode, errorStatus } from "./errors.ts";
import { maxFaults } from "./limits.ts";

/** One thing that is wrong with a request. */
const InputFault = Type.Object({
  field: Type.String({ description: "The invalid parameter or member." }),
  issue: Type.String({ description: "What is wrong with it." }),
  did_you_mean: Type.Optional(Type.String({ description: "The known name that was most likely meant." })),
});
export type InputFault = Static<typeof InputFault>;

export const ErrorBody = Type.Object({
  error: Type.Object({
    code: Type.Unsafe<ErrorCode>({ type: "string", enum: Object.keys(errorStatus) }),
    message: Type.String(),
    details: Type.Optional(
      Type.Object(
        {
          field: Type.Optional(Type.String({ description: "The invalid parameter or member." })),
          issue: Type.Optional(Type.String({ description: "What is wrong with it." })),
          faults: Type.Optional(
            Type.Array(InputFault, {
              description: `All faults of the request, at most ${maxFaults}; the first is that of \`field\` and \`issue\`.`,
            }),
          ),
        },
        { additionalProperties: true },
      ),
    ),
  }),
});
export type ErrorBody = Static<typeof ErrorBody>;
