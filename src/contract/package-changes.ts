import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import { optional, Strict } from "./schema.ts";
import { packageNamePattern, UpdateApply } from "./updates.ts";

const { packages_updated: _, ...applied } = UpdateApply.properties;

export const PackagesChanged = Type.Object({
  ...applied,
  packages_changed: Type.Integer({
    description: "Number of packages that were installed or removed as planned, even if others failed.",
  }),
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
      description: "Take a snapshot first, which a rollback can restore; true unless the settings say otherwise.",
    }),
    guard: Type.Boolean({
      default: false,
      description: "Compare units, ports and checks afterwards, and roll back if something is worse.",
    }),
  }),
});

const shared =
  "Takes a snapshot, then does exactly what a dry run shows. Runs outside the service and survives a restart of it. If the transaction fails, the answer is 200 with `success: false` and the actual counts.";
const never =
  "Essential and protected packages, the package manager, the running kernel and Steward are never removed.";

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
    description: `Installs them with their dependencies; packages that are installed are updated to the newest version. ${shared} Conflicting packages are removed only for keys with \`packages:remove\` for all packages. ${never}`,
    scope: "packages:install",
    effect: "danger",
  },
  removePackages: {
    ...removal,
    path: "/packages/remove",
    summary: "Remove packages",
    description: `Their configuration is kept; dnf and zypper keep modified files as \`*.rpmsave\`. Dependencies that are no longer needed are kept as well. ${shared} Packages that depend on them are removed too, but not for a key that is narrowed to packages. ${never}`,
  },
  purgePackages: {
    ...removal,
    path: "/packages/purge",
    summary: "Remove packages and their configuration",
    description: `On apt, also removes the configuration that an earlier removal has kept; with dnf and zypper, also the \`*.rpmsave\` and \`*.rpmnew\` of their files below /etc. ${shared} Packages that depend on them are removed too, but not for a key that is narrowed to packages. ${never}`,
  },
} as const satisfies Operations;
