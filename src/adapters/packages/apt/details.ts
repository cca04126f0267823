import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { PackageCatalog, PackageDetails, PackageOrigin, RequiringPackage } from "#domain/ports/package-catalog.ts";
import { type PresentPackage, qualifiedName } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { askWhole, ManagerRefuses } from "../common/asking.ts";
import { type AptPaths, isPackageName, onlyAsking } from "./arguments.ts";
import { type DpkgDatabase, type DpkgEntry, nativeArchitecture } from "./database.ts";
import { fieldOf, linesOf, parseStanzas } from "./deb822.ts";
import { failureReason } from "./output.ts";
import { type PackageFile, parsePackageFiles, parsePolicies } from "./policy.ts";
import { descriptionOf, namesIn, sizeOf } from "./search-index.ts";

const relations = [
  ["pre_depends", "Pre-Depends"],
  ["depends", "Depends"],
  ["recommends", "Recommends"],
] as const;

const listOf = (stanza: string, field: string): readonly string[] =>
  linesOf(stanza, field)
    .join(" ")
    .split(",")
    .map((each) => each.trim().replaceAll(/\s+/g, " "))
    .filter((each) => each !== "");

/** Of installed packages those that refer to a name, or to what the package of this name provides. */
export function findRequiring(stanzas: readonly string[], name: string): readonly RequiringPackage[] {
  const installed = stanzas.filter((stanza) => /^\S+ ok installed$/.test(fieldOf(stanza, "Status")));
  const own = installed.filter((stanza) => fieldOf(stanza, "Package") === name);
  const names = new Set([name, ...own.flatMap((stanza) => namesIn(linesOf(stanza, "Provides").join(" ")))]);
  const found = new Map<string, RequiringPackage>();
  for (const stanza of installed) {
    const by = fieldOf(stanza, "Package");
    if (by === name || found.has(by)) continue;
    for (const [relation, field] of relations) {
      const words = listOf(stanza, field).filter((each) => namesIn(each).some((other) => names.has(other)));
      if (words.length === 0) continue;
      found.set(by, { name: by, relation, isAlternative: words.every((each) => each.includes("|")) });
      break;
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The paragraphs after the first line: a line of ` .` is an empty one (deb822(5)). */
const plainDescription = (text: string): string =>
  text
    .split("\n")
    .slice(1)
    .map((line) => line.replace(/^ /, ""))
    .map((line) => (line === "." ? "" : line))
    .join("\n");

const originOf = (location: string, files: readonly PackageFile[]): PackageOrigin => {
  const file = files.find((each) => each.location === location);
  return {
    location,
    origin: file?.origin ?? "",
    suite: file?.archive === "" ? file.codename : (file?.archive ?? ""),
    component: file?.component ?? "",
  };
};

/** What dpkg itself says is installed is not a place to get it from. */
const isStatus = (location: string): boolean => location.startsWith("/");

const installedOf = (found: PresentPackage | undefined, entry: DpkgEntry | undefined): PackageDetails["installed"] =>
  found && {
    version: found.version,
    isManual: found.isManual,
    isHeld: found.isHeld,
    state: entry?.state ?? found.state,
  };

export function createDetails(ports: {
  readonly exec: Exec;
  readonly database: () => Promise<DpkgDatabase>;
  readonly present: () => Promise<readonly PresentPackage[]>;
  readonly paths: Pick<AptPaths, "status">;
}): Pick<PackageCatalog, "show" | "requiring" | "filesOf"> {
  const { exec, database, present, paths } = ports;

  const ask = async (words: readonly string[], signal: AbortSignal): Promise<string> => {
    const argv = ["/usr/bin/apt-cache", ...onlyAsking, ...words] as const;
    const { exitCode, stdout, stderr } = await askWhole({ exec, manager: "apt" }, argv, signal, { timeoutMs: 30_000 });
    if (exitCode === 0) return stdout;
    // Of a package that is unknown, or only a name that others provide.
    if (/^E: No packages found$/m.test(stderr)) return "";
    throw new ManagerRefuses("apt", failureReason(stderr, exitCode));
  };

  /** The entry of a name, with or without its architecture. */
  const entryOf = async (wanted: string): Promise<DpkgEntry | undefined> => {
    const { entries } = await database();
    const [name = "", reported] = wanted.split(":");
    const native = nativeArchitecture(entries);
    const named = entries.filter((entry) => entry.name === name && entry.state !== "not-installed");
    // To apt, what is of all architectures is of the native one, and the other way round.
    if (reported !== undefined && reported !== native && reported !== "all")
      return named.find(({ architecture }) => architecture === reported);
    const own = named.find(({ architecture }) => [native, "all"].includes(architecture));
    return reported === undefined ? (own ?? named[0]) : own;
  };

  return {
    async show(wanted, signal) {
      if (!isPackageName(wanted)) return undefined;
      const [records, policies, sources, entry] = await Promise.all([
        ask(["show", "--", wanted], signal),
        ask(["policy", "--", wanted], signal),
        ask(["policy"], signal),
        entryOf(wanted),
      ]);
      const stanzas = parseStanzas(records);
      const [policy] = parsePolicies(policies);
      const wantedVersion = policy?.candidate ?? entry?.version;
      const record = stanzas.find((each) => fieldOf(each, "Version") === wantedVersion) ?? stanzas[0];
      if (record === undefined) return undefined;
      const files = parsePackageFiles(sources);
      const found = entry && (await present()).find((each) => qualifiedName(each) === qualifiedName(entry));
      const [summary = ""] = descriptionOf(record).split("\n", 1);
      return {
        name: fieldOf(record, "Package"),
        architecture: fieldOf(record, "Architecture"),
        section: fieldOf(record, "Section"),
        summary,
        installedBytes: sizeOf(record, "Installed-Size"),
        downloadBytes: sizeOf(record, "Size"),
        installed: installedOf(found, entry),
        candidate: policy?.candidate ?? undefined,
        versions: (policy?.versions ?? []).map(({ version, locations }) => ({
          version,
          origins: locations.filter((each) => !isStatus(each)).map((each) => originOf(each, files)),
        })),
        priority: fieldOf(record, "Priority"),
        maintainer: fieldOf(record, "Maintainer"),
        homepage: fieldOf(record, "Homepage"),
        description: plainDescription(descriptionOf(record)),
        depends: [...listOf(record, "Pre-Depends"), ...listOf(record, "Depends")],
        provides: listOf(record, "Provides"),
        isEssential: fieldOf(record, "Essential") === "yes",
      };
    },

    async requiring(wanted) {
      const [name = ""] = wanted.split(":");
      return findRequiring(parseStanzas(await readFile(paths.status, "utf8")), name);
    },

    async filesOf(wanted) {
      const entry = isPackageName(wanted) ? await entryOf(wanted) : undefined;
      if (entry === undefined) return undefined;
      const directory = join(dirname(paths.status), "info");
      const names = [`${entry.name}:${entry.architecture}.list`, `${entry.name}.list`];
      const texts = await Promise.all(names.map((name) => orUndefined(readFile(join(directory, name), "utf8"))));
      const text = texts.find((each) => each !== undefined);
      return text?.split("\n").filter((path) => path !== "" && path !== "/.");
    },
  };
}
