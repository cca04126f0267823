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
      held: Type.Boolean({ description: "Whether the package is held." }),
      changed: Type.Boolean({ description: "False if it was so already." }),
    }),
  ),
});
export type PackageHolds = Static<typeof PackageHolds>;

export const HoldsInput = Strict({
  packages: Type.Array(Type.String({ pattern: packageNamePattern, maxLength: 255, examples: ["postgresql-15"] }), {
    minItems: 1,
    maxItems: 100,
    description:
      "Names of installed packages. A name without an architecture stands for the package in every installed architecture.",
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
    summary: "Hold packages at their version",
    description:
      "Neither Steward nor the package manager updates or removes them until they are released. No package is changed. Packages that are held already are listed in the answer. On apt, a rollback restores the holds of its snapshot.",
  },
  unholdPackages: {
    ...hold,
    path: "/packages/unhold",
    summary: "Release held packages",
    description: "No package is changed. Packages that are not held are listed in the answer.",
  },
} as const satisfies Operations;
