import { machine } from "node:os";
import type { FoundPackage } from "#domain/ports/package-catalog.ts";
import type { PackageVersion } from "#domain/ports/packages.ts";
import { comparePackageVersions, withoutZeroEpoch } from "./names.ts";
import type { Marks } from "./records.ts";

/** What rpm or a list of packages says of one. */
export interface DescribedRpm extends FoundPackage {
  /** Where it can be had; empty for one that is installed. */
  readonly repository: string;
  readonly packager: string;
  readonly homepage: string;
  readonly requires: readonly string[];
  readonly provides: readonly string[];
  readonly description: string;
}

/** Tags of `repoquery`, and of rpm for the same in the same order. */
const ofLists = [
  ...["name", "evr", "arch", "repoid", "group", "packager", "vendor", "url", "downloadsize", "installsize", "summary"],
  ...["requires", "provides", "description"],
];
const ofRpm = [
  ...["NAME", "EPOCHNUM}:%{VERSION}-%{RELEASE", "ARCH", "", "GROUP", "PACKAGER", "VENDOR", "URL", "", "LONGSIZE"],
  ...["SUMMARY", "REQUIRENEVRS", "PROVIDENEVRS", "DESCRIPTION"],
];
export const describedCount = ofLists.length;

/** For `repoquery`, which puts the parts of a list on lines. */
export const listsFormat = (marks: Marks): string => ofLists.map((tag) => `%{${tag}}`).join(marks.field) + marks.record;

/** For `rpm --query`. */
export const rpmFormat = (marks: Marks): string =>
  ofRpm
    .map((tag) => {
      if (tag === "") return "";
      return tag.endsWith("NEVRS") ? `[%{${tag}}\\n]` : `%{${tag}}`;
    })
    .join(marks.field) + marks.record;

const orEmpty = (text: string): string => (["(none)", "Unspecified"].includes(text) ? "" : text);
const bytesOf = (text: string): number | undefined => (/^\d{1,15}$/.test(text) ? Number(text) : undefined);
const linesOf = (text: string): readonly string[] => [
  ...new Set(text.split("\n").filter((line) => line !== "" && line !== "(none)")),
];
/** What rpm itself has to know how to do, and the package's own settings, are no packages; lists do not have them. */
const isPackage = (reference: string): boolean => !/^(?:rpmlib|config)\(/.test(reference);

/** @param fields in the order of {@link listsFormat} and {@link rpmFormat}. */
export function describedOf(fields: readonly string[]): DescribedRpm {
  const [name = "", version = "", architecture = "", repository = "", group = "", packager = "", vendor = ""] = fields;
  const [homepage = "", download = "", size = "", summary = "", requires = "", provides = ""] = fields.slice(7);
  return {
    name,
    version: withoutZeroEpoch(version),
    architecture,
    repository,
    section: orEmpty(group),
    packager: orEmpty(packager) || orEmpty(vendor),
    homepage: orEmpty(homepage),
    downloadBytes: bytesOf(download),
    installedBytes: bytesOf(size),
    summary,
    requires: linesOf(requires).filter(isPackage),
    provides: linesOf(provides),
    description: fields[describedCount - 1] ?? "",
  };
}

/** The host's own architecture, in rpm's words. */
const native = machine();
export const isNative = ({ architecture }: Pick<PackageVersion, "architecture">): boolean =>
  architecture === native || architecture === "noarch";

/** The host's own architecture before others, then the newest version. Negative where the first comes first. */
export const byPreference = (one: PackageVersion, other: PackageVersion): number =>
  Number(isNative(other)) - Number(isNative(one)) || comparePackageVersions(other.version, one.version);
