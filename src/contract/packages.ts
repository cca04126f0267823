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
    description: "The version that would be installed, or the installed one where it is in no list.",
  }),
  installed_version: NullableString("Null when it is not installed."),
  section: Type.String({ description: "Subject that the distribution files it under; empty where it has none." }),
  summary: Type.String({ description: "The first line of its description." }),
  download_bytes: NullableInteger("Null where the lists do not say."),
  installed_bytes: NullableInteger("Null where the lists do not say."),
});
export type PackageEntry = Static<typeof PackageEntry>;

export const PackageEntryList = Type.Object({
  packages: Type.Array(PackageEntry, {
    description:
      "The package of that name first, then names that begin with the first word, or have it, then others; each by name.",
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
      reason: { type: "string", enum: ["manual", "automatic"], description: "`automatic`: it came along with others." },
      held: { type: "boolean", description: "Whether it is kept from being updated." },
      state: { type: "string", description: "`installed`, or what is left of it in the words of the package manager." },
    },
    required: ["version", "reason", "held", "state"],
    description: "Null when it is not installed.",
  }),
  candidate: NullableString("The version that would be installed; null when there is none."),
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
        { description: "Where it can be had; empty for one that is only installed." },
      ),
    }),
    { description: "Newest first." },
  ),
  section: Type.String({ description: "Subject that the distribution files it under; empty where it has none." }),
  priority: Type.String({
    description: "How much the distribution holds it for needed, such as `optional`; empty where it does not say.",
  }),
  maintainer: Type.String(),
  homepage: Type.String(),
  summary: Type.String(),
  description: Type.String({ description: "As far as the lists of this host have it." }),
  download_bytes: NullableInteger("Null where the lists do not say."),
  installed_bytes: NullableInteger("Null where the lists do not say."),
  essential: Type.Boolean({ description: "Whether the host cannot do without it: it is never removed." }),
  depends: Type.Array(Type.String(), { description: "What it needs, in the notation of the package manager." }),
  provides: Type.Array(Type.String(), { description: "Other names that it can be required by." }),
  required_by: Type.Array(
    Type.Object({
      name: Type.String(),
      relation: Choice(relations),
      alternative: Type.Boolean({ description: "Whether another package would do as well." }),
    }),
    { description: "Installed packages that refer to it, or to what it provides; empty when it is not installed." },
  ),
  files: Type.Optional(Type.Array(Type.String(), { description: "With `files=true`, of an installed package." })),
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
  started_at: Timestamp("When it began."),
  ended_at: NullableTimestamp("When it ended; null where that was not logged."),
  command: NullableString(
    "The command line, with secrets redacted; null where it is not known, or the key is narrowed to packages.",
  ),
  requested_by: NullableString("The user who became root for it, where the package manager knows one."),
  error: NullableString("What went wrong, in the words of the package manager."),
  packages: Type.Array(
    Type.Object({
      name: Type.String(),
      architecture: Type.String(),
      action: Choice(packageActions),
      from: NullableString("Version before."),
      to: NullableString("Version after."),
      automatic: Type.Boolean({
        description: "Whether it came along with others; false where the package manager does not log that (pacman).",
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
      "Name of the package; `libc6:i386` is that of another architecture. One that is called `history` is shown by its architecture: `history:amd64`.",
    examples: ["openssl"],
  }),
});

const limitOf = (limits: object, what: string) => Type.Integer({ ...limits, description: `Maximum ${what}.` });

export const packages = {
  searchPackages: {
    method: "GET",
    path: "/packages",
    tag: "Packages",
    summary: "Find packages",
    description:
      "Of the lists on disk and of what is installed. Finds what has each word in its name, the names it provides, or its description: on apt what `apt-cache search` finds. The first search after the lists or the installed packages have changed takes longer. A key that is narrowed to packages sees only those.",
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
          "Words, each of which is part of the name, of a name that the package provides, or of the description. Case does not matter.",
        examples: ["web server"],
      }),
      installed: Type.Boolean({ description: "Only packages that are installed, or only others." }),
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
    summary: "What was installed and removed",
    description:
      "From the log of the package manager, as far back as it is kept: what anybody did, with Steward or without. Where there is no log, `not_shown` says so. A key that is narrowed to packages sees only those.",
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
