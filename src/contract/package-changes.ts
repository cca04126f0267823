import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import { optional, Strict } from "./schema.ts";
import { packageNamePattern, UpdateApply } from "./updates.ts";

const { packages_updated: _, ...applied } = UpdateApply.properties;

export const PackagesChanged = Type.Object({
  ...applied,
  packages_changed: Type.Integer({ description: "Packages that came or went as planned, whatever became of others." }),
});
export type PackagesChanged = Static<typeof PackagesChanged>;

export const PackagesInput = Strict({
  packages: Type.Array(
    Type.String({
      pattern: packageNamePattern,
      maxLength: 255,
      examples: ["nginx"],
    }),
    {
      minItems: 1,
      maxItems: 100,
      description: "Names of packages.",
    },
  ),
  ...optional({
    create_snapshot: Type.Boolean({
      description: "Take a snapshot first, to which a rollback returns; true unless settings say otherwise.",
    }),
    guard: Type.Boolean({
      default: false,
      description: "Look at units, ports and checks afterwards, and roll back when something is worse.",
    }),
  }),
});

const shared =
  "Takes a snapshot, then carries out exactly what a dry run shows. Runs outside the service and outlives it. A transaction that fails is a 200 with `success: false` and true counts.";
const never =
  "Never removed, in whatever way it is asked for, are essential and protected packages, the package manager, the running kernel and Steward.";

const change = {
  method: "POST",
  tag: "Packages",
  narrows: "answer",
  takesLong: true,
  outlives: true,
  query: DryRunQuery,
  body: PackagesInput,
  response: PackagesChanged,
  errors: ["CONFLICT", "UNAVAILABLE"],
} as const;
const removal = { ...change, scope: "packages:remove", effect: "danger" } as const;

export const packageChanges = {
  installPackages: {
    ...change,
    path: "/packages/install",
    summary: "Install packages",
    description: `With what they need; what is installed is brought to its newest version. ${shared} What conflicts with them is removed only for keys with \`packages:remove\` for all packages. ${never}`,
    scope: "packages:install",
    effect: "danger",
  },
  removePackages: {
    ...removal,
    path: "/packages/remove",
    summary: "Remove packages",
    description: `Their configuration stays; with dnf and zypper that is what was changed of it, as \`*.rpmsave\`. What nothing needs any more stays as well. ${shared} What depends on them goes with them, but not for a key that is narrowed to packages. ${never}`,
  },
  purgePackages: {
    ...removal,
    path: "/packages/purge",
    summary: "Remove packages and their configuration",
    description: `On apt also what a removal has left; with dnf and zypper also the \`*.rpmsave\` and \`*.rpmnew\` of their files below /etc. ${shared} What depends on them goes with them, but not for a key that is narrowed to packages. ${never}`,
  },
} as const satisfies Operations;
