import type { PackageVersion } from "#domain/ports/packages.ts";
import { isRecord, isString, type JsonObject, parseJsonObject, recordsIn } from "#kernel/values.ts";
import type { Findings } from "../common/rpm/findings.ts";
import {
  comparePackageVersions,
  nameAndArchitecture,
  parseNevra,
  splitVersion,
  withoutZeroEpoch,
} from "../common/rpm/names.ts";
import type { AdvisedRpm } from "../common/rpm/offers.ts";

/** The objects of a list in JSON, which dnf5 leaves out altogether where it has nothing to say. */
export const recordsOf = (text: string): readonly JsonObject[] =>
  recordsIn(parseJsonObject(`{"list":${text.trim() || "[]"}}`)?.["list"]);

/** Reads `check-upgrade --json`: what an upgrade would bring, without what takes the place of other packages. */
export const parseCheckUpgrade = (text: string): readonly PackageVersion[] =>
  recordsIn(parseJsonObject(text)?.["upgrades"]).flatMap(({ name, arch, evr }) =>
    isString(name) && isString(arch) && isString(evr)
      ? [{ name, architecture: arch, version: withoutZeroEpoch(evr) }]
      : [],
  );

/** Reads `advisory list --json`. */
export const parseAdvisories = (text: string): readonly AdvisedRpm[] =>
  recordsOf(text).flatMap(({ name, nevra }) => {
    const found = isString(nevra) ? parseNevra(nevra) : undefined;
    return isString(name) && found !== undefined ? [{ ...found, advisory: name }] : [];
  });

export interface HistoryItem extends PackageVersion {
  readonly action: string;
  readonly reason: string;
}

/** Reads `history list --json`: the numbers of the transactions and whether each has an end, the newest first. */
export const parseHistory = (text: string): readonly { readonly id: number; readonly isUnfinished: boolean }[] =>
  recordsOf(text).flatMap(({ id, status }) =>
    typeof id === "number" ? [{ id, isUnfinished: status === "Started" }] : [],
  );

export interface Transaction {
  readonly brought: readonly HistoryItem[];
  /** Older versions of what it was to bring. */
  readonly replaced: readonly HistoryItem[];
  readonly removed: readonly HistoryItem[];
}

/** Reads `history info --json` of one transaction: what it was to do. Which of it was done is not written down. */
export function parseTransaction(text: string): Transaction {
  const items = recordsOf(text)
    .flatMap(({ packages }) => recordsIn(packages))
    .flatMap(({ nevra, action, reason }): readonly HistoryItem[] => {
      const found = isString(nevra) ? parseNevra(nevra) : undefined;
      return found !== undefined && isString(action) && isString(reason) ? [{ ...found, action, reason }] : [];
    });
  const of = (pattern: RegExp) => items.filter(({ action }) => pattern.test(action));
  const brought = of(/^(?:Install|Upgrade|Downgrade|Reinstall)$/);
  const isItself = (found: HistoryItem): boolean =>
    found.action === "Replaced" && brought.some((each) => nameAndArchitecture(each) === nameAndArchitecture(found));
  const gone = of(/^(?:Remove|Replaced)$/);
  return { brought, replaced: gone.filter(isItself), removed: gone.filter((each) => !isItself(each)) };
}

/** Reasons of packages that nobody asked for. */
export const automaticReasons: ReadonlySet<string> = new Set(["Dependency", "Weak Dependency", "Clean"]);

type CheckFindings = Pick<Findings, "unmet" | "duplicates">;

/** Reads `check`: a package, and below it what is wrong with it. Of two versions each names the other. */
export function parseCheck(text: string): CheckFindings {
  const unmet: CheckFindings["unmet"][number][] = [];
  const beside = new Map<PackageVersion, PackageVersion[]>();
  let of: PackageVersion | undefined;
  for (const line of text.split("\n")) {
    if (!line.startsWith(" ")) {
      of = parseNevra(line);
      continue;
    }
    if (of === undefined) continue;
    const [, what = "", subject = "", from] =
      /^ (missing require|installed conflict|duplicate with) "(.+?)"(?: from "(.+)")?$/.exec(line) ?? [];
    const other = parseNevra(subject);
    if (what === "duplicate with" && other !== undefined) beside.set(of, [...(beside.get(of) ?? []), other]);
    else if (what === "missing require") unmet.push({ name: of.name, needs: `Requires: ${subject}` });
    else if (what === "installed conflict")
      unmet.push({ name: of.name, needs: `Conflicts: ${subject}${from === undefined ? "" : ` (${from})`}` });
  }
  const duplicates = [...beside].flatMap(([old, others]) => {
    const kept = others.toSorted((one, another) => comparePackageVersions(another.version, one.version))[0];
    return kept !== undefined && comparePackageVersions(old.version, kept.version) < 0 ? [{ old, kept }] : [];
  });
  return { unmet, duplicates };
}

/** Reads `versionlock list`: patterns of packages that are kept at one version; others only bar some. */
export const parseVersionLocks = (text: string): readonly string[] =>
  text.split(/^Package name: /m).flatMap((lock) => {
    const [name = ""] = lock.split("\n");
    const [, evr] = /^evr = (\S+)$/m.exec(lock) ?? [];
    if (evr === undefined) return [];
    const { epoch, version, release } = splitVersion(evr);
    return [`${name.trim()}-${epoch}:${version}-${release}`];
  });

/** Reads `--dump-main-config`. */
export const parseExcludes = (text: string): readonly string[] =>
  (/^excludepkgs = (.*)$/m.exec(text)?.[1] ?? "").split(/[\s,]+/).filter((word) => word !== "");

/** Reads `needs-restarting --json`, which is its own where the plugin is missing. */
export const asksReboot = (text: string): boolean =>
  recordsOf(text).some((found) => isRecord(found) && found["reboot_required"] === true);
