import { type PackageChange, qualifiedName } from "#domain/ports/packages.ts";
import { type DpkgEntry, nativeArchitecture } from "./database.ts";
import type { Offer } from "./offers.ts";

export interface SimulatedStep {
  readonly kind: "install" | "remove" | "configure";
  readonly name: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly architecture: string;
  readonly releases: readonly { readonly label: string; readonly suite: string }[];
}

const kinds: Readonly<Record<string, SimulatedStep["kind"]>> = {
  Inst: "install",
  Remv: "remove",
  Purg: "remove",
  Conf: "configure",
};

/** `Debian-Security:12/stable-security, Debian:12.4/stable`; one without a label has only its suite or host. */
function releasesOf(text: string): SimulatedStep["releases"] {
  return text.split(", ").flatMap((each) => {
    const colon = each.indexOf(":");
    const suite = each.slice(colon + 1).replace(/^[^/]*\//, "");
    return suite.trim() === "" ? [] : [{ label: each.slice(0, Math.max(colon, 0)), suite: suite.trim() }];
  });
}

function stepOf(line: string): readonly SimulatedStep[] {
  const pattern = /^(Inst|Remv|Purg|Conf) (\S+)(?: \[([^\]\s]*)\])?(?: \((\S+) (.*?) ?\[([^\]\s]*)\]\))?/;
  const [, word = "", name = "", from, to, releases = "", architecture = ""] = pattern.exec(line) ?? [];
  const kind = kinds[word];
  if (kind === undefined) return [];
  return [{ kind, name, from: from ?? null, to: to ?? null, architecture, releases: releasesOf(releases) }];
}

export const parseSimulation = (text: string): readonly SimulatedStep[] => text.split("\n").flatMap(stepOf);

export function parseDownloadBytes(text: string): number {
  const sizes = text.split("\n").map((line) => {
    const [, uri = "", size = "0"] = /^'([^']+)' \S+ (\d+)/.exec(line) ?? [];
    return /^(file|copy|cdrom):/.test(uri) ? 0 : Number(size);
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

const units: Readonly<Record<string, number>> = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

export function parseGrowthBytes(text: string): number {
  const pattern =
    /^After this operation, ([0-9.,]+) ([kMGT]?)B (of additional disk space will be used|disk space will be freed)/m;
  const [, amount = "0", unit = "", what = ""] = pattern.exec(text) ?? [];
  const bytes = Math.round(Number(amount.replaceAll(",", "")) * (units[unit] ?? 1));
  return what.endsWith("freed") && bytes !== 0 ? -bytes : bytes;
}

export interface UnmetDependency {
  readonly name: string;
  readonly needs: string;
}

/** Apt's reasons depend on the sources that it was let look at; which dependency it is does not. */
const withoutReason = (text: string): string =>
  `${text.replace(/ but .*$/, "")}${/ or$/.test(text) ? " |" : ""}`.replace(/ or( \|)?$/, " |").trim();

export function parseUnmet(text: string): readonly UnmetDependency[] {
  const [, list = ""] =
    /\n(?:The following packages have unmet dependencies|Unsatisfied dependencies):\n((?: .*\n)+)/.exec(
      `\n${text}\n`,
    ) ?? [];
  const unmet: { name: string; needs: string }[] = [];
  for (const line of list.split("\n")) {
    const [, name, first = ""] = /^ (\S+) ?: (.+)$/.exec(line) ?? [];
    const last = unmet.at(-1);
    if (name !== undefined) unmet.push({ name, needs: withoutReason(first) });
    else if (last?.needs.endsWith("|")) last.needs = `${last.needs} ${withoutReason(line)}`;
    else if (last !== undefined && line.trim() !== "") unmet.push({ name: last.name, needs: withoutReason(line) });
  }
  return unmet;
}

const isSecurityRelease = ({ label, suite }: SimulatedStep["releases"][number]): boolean =>
  label === "Debian-Security" || suite.endsWith("-security");

export function byName(one: PackageChange, other: PackageChange): number {
  if (one.name !== other.name) return one.name < other.name ? -1 : 1;
  return one.architecture < other.architecture ? -1 : 1;
}

export function changesOf(
  steps: readonly SimulatedStep[],
  known: { readonly entries: readonly DpkgEntry[]; readonly offers: readonly Offer[] },
): readonly PackageChange[] {
  const native = nativeArchitecture(known.entries);
  const offers = new Map(known.offers.map((offer) => [qualifiedName(offer.entry), offer]));

  /** Of what is removed apt gives an architecture only where it is not the machine's own. */
  const removedArchitecture = (name: string, reported: string | undefined): string =>
    known.entries.find(
      (entry) =>
        entry.name === name &&
        (reported === undefined ? [native, "all"].includes(entry.architecture) : entry.architecture === reported),
    )?.architecture ?? native;

  const changes = new Map<string, PackageChange>();
  for (const { kind, name: word, from, to, architecture: newArchitecture, releases } of steps) {
    if (kind === "configure") continue;
    const [name = "", reported] = word.split(":");
    const architecture = kind === "remove" ? removedArchitecture(name, reported) : newArchitecture;
    const key = qualifiedName({ name, architecture });
    const suites = offers.get(key)?.suites ?? [];
    const isSecurity = kind === "install" && (suites.length > 0 || releases.some(isSecurityRelease));
    // Apt may name a package twice: removed on the way to its new version.
    changes.set(key, { name, architecture, from: from ?? changes.get(key)?.from ?? null, to, isSecurity });
  }
  return [...changes.values()].sort(byName);
}
