import type { Static } from "typebox";
import { Type } from "typebox";

const connectorStatuses = ["connected", "disconnected", "error", "not_configured"] as const;
const chatRoles = ["system", "user", "assistant"] as const;

export const Connector = Type.Object({
  name: Type.String({ description: "Identifier, used in paths and in chat requests." }),
  provider: Type.String({ description: "Display name of the provider." }),
  model: Type.String(),
  status: Type.Unsafe<(typeof connectorStatuses)[number]>({ type: "string", enum: [...connectorStatuses] }),
});
export type Connector = Static<typeof Connector>;

export const ChatRequest = Type.Object(
  {
    connector: Type.Optional(Type.String({ description: "Connector name; the default connector when left out." })),
    messages: Type.Array(
      Type.Object({
        role: Type.Unsafe<(typeof chatRoles)[number]>({ type: "string", enum: [...chatRoles] }),
        content: Type.String(),
      }),
    ),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: 200_000 })),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  },
  { additionalProperties: false },
);
export type ChatRequest = Static<typeof ChatRequest>;

export const ChatResponse = Type.Object({
  content: Type.String(),
  model: Type.String(),
  usage: Type.Object({ input_tokens: Type.Integer(), output_tokens: Type.Integer() }),
});
export type ChatResponse = Static<typeof ChatResponse>;
