import type { Described } from "../catalog.ts";
import { withoutZeroEpoch } from "./names.ts";
import type { Marks } from "./records.ts";

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
export function describedOf(fields: readonly string[]): Described {
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
    depends: linesOf(requires).filter(isPackage),
    provides: linesOf(provides),
    description: fields[describedCount - 1] ?? "",
  };
}
