import type { PackageVersion } from "#domain/ports/packages.ts";
import { comparePackageVersions, nevraOf, parseNevra, versionOf, withoutZeroEpoch } from "../common/rpm/names.ts";
import type { AdvisedRpm } from "../common/rpm/offers.ts";
import { parseElements } from "./output.ts";

/** What rpm is asked of each package; none of these values has a bar in it. */
export const installedFormat = "%{NAME}|%{EPOCHNUM}|%{VERSION}|%{RELEASE}|%{ARCH}\\n";

export const parseInstalled = (text: string): readonly PackageVersion[] =>
  text.split("\n").flatMap((line) => {
    const [name = "", epoch = "", version = "", release = "", architecture, more] = line.split("|");
    if (architecture === undefined || more !== undefined || name === "" || name === "gpg-pubkey") return [];
    return [{ name, version: versionOf(epoch, version, release), architecture }];
  });

export const parseRepositories = (text: string): readonly string[] =>
  parseElements(text).flatMap(({ name, attributes: { alias, enabled } }) =>
    name === "repo" && enabled === "1" && alias !== undefined ? [alias] : [],
  );

export const parseUpdates = (text: string): readonly PackageVersion[] =>
  parseElements(text).flatMap(({ name: element, attributes: { kind, name, edition, arch } }) => {
    if (element !== "update" || kind !== "package") return [];
    if (name === undefined || edition === undefined || arch === undefined) return [];
    return [{ name, version: withoutZeroEpoch(edition), architecture: arch }];
  });

/** Reads `list-patches`: names of those that are needed. One may be in several repositories. */
export const parsePatches = (text: string): readonly string[] => [
  ...new Set(
    parseElements(text).flatMap(({ name: element, attributes: { kind, name, status, category } }) =>
      element === "update" && kind === "patch" && status === "needed" && category === "security" && name !== undefined
        ? [name]
        : [],
    ),
  ),
];

export interface PatchedVersion {
  readonly patch: string;
  readonly subject: string;
  readonly version: string;
}

/** Reads `info --type patch`: what a patch conflicts with is what it brings packages beyond. */
export function parsePatchInfo(text: string): readonly PatchedVersion[] {
  const lines = parseElements(text).flatMap((each) => (each.name === "message" ? each.text.split("\n") : []));
  const found: PatchedVersion[] = [];
  let patch = "";
  let field = "";
  for (const line of lines) {
    const [, name, value] = /^(\S[^:]*?) *: ?(.*)$/.exec(line) ?? [];
    if (name !== undefined) field = name;
    if (field === "Name" && value !== undefined) patch = value.trim();
    const [, subject, version] = /^(\S+) < (\S+)$/.exec((value ?? line).trim()) ?? [];
    // Others than packages are named with their kind before a colon.
    if (field !== "Conflicts" || subject === undefined || version === undefined || subject.includes(":")) continue;
    found.push({ patch, subject, version: withoutZeroEpoch(version) });
  }
  return found;
}

export const advisedFor = (
  patched: readonly PatchedVersion[],
  newest: Iterable<PackageVersion>,
): readonly AdvisedRpm[] => {
  const installed = [...newest];
  return patched.flatMap(({ patch, subject, version }) =>
    installed
      .filter(({ name, architecture }) => subject === name || subject === `${name}.${architecture}`)
      .filter((each) => comparePackageVersions(each.version, version) < 0)
      .map(({ name, architecture }) => ({ name, architecture, version, advisory: patch })),
  );
};

export const parseHeld = (text: string): ReadonlySet<string> =>
  new Set(
    parseElements(text).flatMap(({ name: element, attributes: { kind, name, edition, arch, installed } }) => {
      if (element !== "match" || kind !== "package" || installed !== "true") return [];
      if (name === undefined || edition === undefined || arch === undefined) return [];
      return [nevraOf({ name, version: withoutZeroEpoch(edition), architecture: arch })];
    }),
  );

/** Reads `search --details`: what repositories have. What is only installed is in none. */
export const parseFound = (text: string): readonly (PackageVersion & { readonly repository: string })[] =>
  parseElements(text).flatMap(({ name: element, attributes: { kind, name, edition, arch, repository } }) => {
    if (element !== "solvable" || kind !== "package" || repository === "(System Packages)") return [];
    if (name === undefined || edition === undefined || arch === undefined) return [];
    return [{ name, version: withoutZeroEpoch(edition), architecture: arch, repository: repository ?? "" }];
  });

export const parseAutoInstalled = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.startsWith("#")),
  );

export const parseUnmet = (text: string): readonly { readonly name: string; readonly needs: string }[] =>
  text.split("\n").flatMap((line) => {
    const [, what = "", verb, nevra = ""] =
      /^\s*(.+) (is needed by|conflicts with) (?:\(installed\) )?(\S+)$/.exec(line) ?? [];
    if (verb === undefined) return [];
    const name = parseNevra(nevra)?.name ?? nevra;
    return [{ name, needs: `${verb === "is needed by" ? "Requires" : "Conflicts"}: ${what}` }];
  });
