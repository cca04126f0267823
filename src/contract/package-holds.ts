import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import { Strict } from "./schema.ts";
import { packageNamePattern } from "./updates.ts";

export const PackageHolds = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  packages: Type.Array(
    Type.Object({
      name: Type.String(),
      architecture: Type.String(),
      version: Type.String({ description: "The installed version." }),
      held: Type.Boolean({ description: "Whether it is kept from being updated." }),
      changed: Type.Boolean({ description: "False where it was so already." }),
    }),
  ),
});
export type PackageHolds = Static<typeof PackageHolds>;

export const HoldsInput = Strict({
  packages: Type.Array(Type.String({ pattern: packageNamePattern, maxLength: 255, examples: ["postgresql-15"] }), {
    minItems: 1,
    maxItems: 100,
    description:
      "Names of installed packages. A name without an architecture stands for the package in each one that is installed.",
  }),
});

const hold = {
  method: "POST",
  tag: "Packages",
  scope: "packages:hold",
  narrows: "answer",
  effect: "write",
  takesLong: true,
  query: DryRunQuery,
  body: HoldsInput,
  response: PackageHolds,
  errors: ["UNAVAILABLE"],
} as const;

export const packageHolds = {
  holdPackages: {
    ...hold,
    path: "/packages/hold",
    summary: "Keep packages at their version",
    description:
      "They are neither updated nor removed until that is taken back, by Steward or by the package manager. No package changes by it. What is held already stays so and is told. On apt, a rollback returns to the holds of its snapshot.",
  },
  unholdPackages: {
    ...hold,
    path: "/packages/unhold",
    summary: "Let packages be updated again",
    description: "No package changes by it. What is not held stays so and is told.",
  },
} as const satisfies Operations;
