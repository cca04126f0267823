import type { Static } from "typebox";
import { Type } from "typebox";

const pluginTypes = ["command", "check", "hook"] as const;

export const Plugin = Type.Object({
  name: Type.String(),
  version: Type.String(),
  type: Type.Unsafe<(typeof pluginTypes)[number]>({ type: "string", enum: [...pluginTypes] }),
  enabled: Type.Boolean(),
  author: Type.String(),
});
export type Plugin = Static<typeof Plugin>;
