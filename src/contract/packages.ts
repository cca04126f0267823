import { type Static, Type } from "typebox";
import { packageHistoryLimit, packageListLimit } from "./limits.ts";
import type { Operations } from "./operation.ts";
import {
  Choice,
  CountedListShape,
  Cursor,
  ListShape,
  MayLack,
  NullableInteger,
  NullableString,
  NullableTimestamp,
  Options,
  Timestamp,
} from "./schema.ts";
import { packageNamePattern } from "./updates.ts";

export const PackageEntry = Type.Object({
  name: Type.String(),
  architecture: Type.String(),
  version: Type.String({
    description: "The version that would be installed, or the installed one if no list has the package.",
  }),
  installed_version: NullableString("Null if it is not installed."),
  section: Type.String({ description: "Section of the distribution; empty if it has none." }),
  summary: Type.String({ description: "The first line of its description." }),
  download_bytes: NullableInteger("Null if the lists do not say."),
  installed_bytes: NullableInteger("Null if the lists do not say."),
});
export type PackageEntry = Static<typeof PackageEntry>;

export const PackageEntryList = Type.Object({
  packages: Type.Array(PackageEntry, {
    description:
      "The package with that name first, then names that start with the first word, then names that contain it, then others; each group ordered by name.",
  }),
  ...CountedListShape,
  package_manager: Type.String({ description: "`apt`, `dnf`, `zypper` or `pacman`." }),
  ...MayLack,
});
export type PackageEntryList = Static<typeof PackageEntryList>;

const relations = ["pre_depends", "depends", "recommends"] as const;

export const PackageDetail = Type.Object({
  name: Type.String(),
  architecture: Type.String(),
  installed: Type.Unsafe<PackageInstallation | null>({
    type: ["object", "null"],
    properties: {
      version: { type: "string" },
      reason: {
        type: "string",
        enum: ["manual", "automatic"],
        description: "`automatic`: installed as a dependency of another package.",
      },
      held: { type: "boolean", description: "Whether the package is held." },
      state: {
        type: "string",
        description: "`installed`, or the state reported by the package manager for what is left of it.",
      },
    },
    required: ["version", "reason", "held", "state"],
    description: "Null if it is not installed.",
  }),
  candidate: NullableString("The version that would be installed; null if there is none."),
  versions: Type.Array(
    Type.Object({
      version: Type.String(),
      origins: Type.Array(
        Type.Object({
          location: Type.String({ examples: ["https://deb.debian.org/debian bookworm/main amd64 Packages"] }),
          origin: Type.String(),
          suite: Type.String(),
          component: Type.String(),
        }),
        { description: "Repositories that have this version; empty if it is only installed." },
      ),
    }),
    { description: "Newest first." },
  ),
  section: Type.String({ description: "Section of the distribution; empty if it has none." }),
  priority: Type.String({
    description: "Priority given by the distribution, such as `optional`; empty if there is none.",
  }),
  maintainer: Type.String(),
  homepage: Type.String(),
  summary: Type.String(),
  description: Type.String({ description: "Description, as far as the lists of this host have it." }),
  download_bytes: NullableInteger("Null if the lists do not say."),
  installed_bytes: NullableInteger("Null if the lists do not say."),
  essential: Type.Boolean({ description: "Whether the package is essential; such a package is never removed." }),
  depends: Type.Array(Type.String(), { description: "Dependencies, in the notation of the package manager." }),
  provides: Type.Array(Type.String(), { description: "Other names by which it can be required." }),
  required_by: Type.Array(
    Type.Object({
      name: Type.String(),
      relation: Choice(relations),
      alternative: Type.Boolean({ description: "Whether another package satisfies the dependency as well." }),
    }),
    { description: "Installed packages that refer to it or to what it provides; empty if it is not installed." },
  ),
  files: Type.Optional(
    Type.Array(Type.String(), { description: "Files of the package, with `files=true` and if it is installed." }),
  ),
});
export type PackageDetail = Static<typeof PackageDetail>;

export interface PackageInstallation {
  readonly version: string;
  readonly reason: "manual" | "automatic";
  readonly held: boolean;
  readonly state: string;
}

const packageActions = ["install", "reinstall", "upgrade", "downgrade", "remove", "purge"] as const;

export const PackageTransaction = Type.Object({
  started_at: Timestamp("When the transaction began."),
  ended_at: NullableTimestamp("When the transaction ended; null if that was not logged."),
  command: NullableString(
    "The command line, with secrets redacted; null if it is unknown, or if the key is narrowed to packages.",
  ),
  requested_by: NullableString("The user who became root to run it, if the package manager recorded that."),
  error: NullableString("Error message of the package manager."),
  packages: Type.Array(
    Type.Object({
      name: Type.String(),
      architecture: Type.String(),
      action: Choice(packageActions),
      from: NullableString("Version before."),
      to: NullableString("Version after."),
      automatic: Type.Boolean({
        description:
          "Whether it was installed as a dependency; false if the package manager does not log that (pacman).",
      }),
    }),
  ),
});
export type PackageTransaction = Static<typeof PackageTransaction>;

export const PackageHistory = Type.Object({
  transactions: Type.Array(PackageTransaction, { description: "Newest first." }),
  ...ListShape,
  ...MayLack,
});
export type PackageHistory = Static<typeof PackageHistory>;

/** Packages of another architecture are of the same name. */
export const packageOf = (name: string): string => name.replace(/:[^:]*$/, "");

const PackageName = Type.Object({
  name: Type.String({
    pattern: packageNamePattern,
    maxLength: 255,
    description:
      "Name of the package; `libc6:i386` is the one for another architecture. A package that is named `history` needs its architecture: `history:amd64`.",
    examples: ["openssl"],
  }),
});

const limitOf = (limits: object, what: string) => Type.Integer({ ...limits, description: `Maximum ${what}.` });

export const packages = {
  searchPackages: {
    method: "GET",
    path: "/packages",
    tag: "Packages",
    summary: "Search packages",
    description:
      "Searches the package lists on disk and the installed packages. A package matches if each word is in its name, in a name that it provides, or in its description; on apt the result is that of `apt-cache search`. The first search after the lists or the installed packages have changed takes longer. A key that is narrowed to packages sees only those.",
    scope: "packages:read",
    narrows: "answer",
    effect: "read",
    versioned: true,
    takesLong: true,
    query: Options({
      search: Type.String({
        maxLength: 256,
        pattern: "^[^\\u0000-\\u001f\\u007f]*$",
        description:
          "Words, each of which must be part of the name, of a name that the package provides, or of the description. Case-insensitive.",
        examples: ["web server"],
      }),
      installed: Type.Boolean({ description: "Only packages that are installed, or only those that are not." }),
      limit: limitOf(packageListLimit, "packages"),
      cursor: Cursor,
    }),
    response: PackageEntryList,
    errors: ["UNAVAILABLE"],
  },
  listPackageHistory: {
    method: "GET",
    path: "/packages/history",
    tag: "Packages",
    summary: "Installed and removed packages over time",
    description:
      "From the log of the package manager, as far back as it is kept, including changes that were made without Steward. If there is no log, `not_shown` says so. A key that is narrowed to packages sees only those.",
    scope: "packages:read",
    narrows: "answer",
    effect: "read",
    query: Options({ limit: limitOf(packageHistoryLimit, "transactions"), cursor: Cursor }),
    response: PackageHistory,
    errors: ["UNAVAILABLE"],
  },
  getPackage: {
    method: "GET",
    path: "/packages/{name}",
    tag: "Packages",
    summary: "One package",
    description: "Its versions and where they come from, why it is installed, and what requires it.",
    scope: "packages:read",
    resource: ({ name = "" }) => packageOf(name),
    effect: "read",
    takesLong: true,
    params: PackageName,
    query: Options({
      files: Type.Boolean({ default: false, description: "List the files of the installed package." }),
    }),
    response: PackageDetail,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
} as const satisfies Operations;
