import { packageHistoryLimit, packageListLimit } from "#contract/limits.ts";
import { type Caller, type Handlers, Versioned } from "#contract/operation.ts";
import {
  type PackageDetail,
  type PackageEntry,
  type PackageEntryList,
  type PackageTransaction,
  packageOf,
  type packages,
} from "#contract/packages.ts";
import { DomainError } from "#domain/common/error.ts";
import { membersUpTo, notShown, pageOf } from "#domain/common/page.ts";
import { redact } from "#domain/common/redact.ts";
import type {
  FoundPackage,
  LoggedTransaction,
  PackageDetails,
  RequiringPackage,
} from "#domain/ports/package-catalog.ts";
import type { InstalledPackage, PackageManager } from "#domain/ports/packages.ts";
import { toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { defined } from "#kernel/values.ts";

/** What people look for first: the name itself, names that begin with the word, names that have it, and the rest. */
function rankOf(name: string, word: string): number {
  if (name === word) return 0;
  if (name.startsWith(word)) return 1;
  return name.includes(word) ? 2 : 3;
}

function inOrder<T extends { readonly name: string }>(found: readonly T[], word = ""): readonly T[] {
  const wanted = word.toLowerCase();
  return found
    .map((each) => ({ each, rank: rankOf(each.name, wanted) }))
    .sort((a, b) => a.rank - b.rank || (a.each.name < b.each.name ? -1 : 1))
    .map(({ each }) => each);
}

type Catalogued = Pick<PackageManager, "name" | "installed" | "lists" | "catalog">;

export interface PackagePorts {
  /** Undefined without a package manager that is supported. */
  readonly manager: () => Promise<Catalogued | undefined>;
  /** Whether a caller may see a package. */
  readonly maySee: (caller: Caller | undefined, name: string) => boolean;
  /** Whether a caller may see all packages. */
  readonly seesAll: (caller: Caller | undefined) => boolean;
}

const noLists = "there are no package lists (GET /updates/check?refresh=true fetches them)";

/** @throws DomainError `UNAVAILABLE` where packages cannot be asked about. */
async function cataloguedBy(find: PackagePorts["manager"]): Promise<Catalogued> {
  const manager = await find();
  if (manager !== undefined) return manager;
  throw new DomainError("UNAVAILABLE", "cannot look for packages: no package manager here is supported", {
    missing: "package catalog",
    retryable: false,
  });
}

/** Of several architectures that of the package which was found. */
function installedVersions(all: readonly InstalledPackage[]) {
  const byName = Map.groupBy(all, ({ name }) => name);
  return ({ name, architecture }: Pick<FoundPackage, "name" | "architecture">): string | null => {
    const found = byName.get(name) ?? [];
    return (found.find((each) => each.architecture === architecture) ?? found[0])?.version ?? null;
  };
}

const toEntry = (found: FoundPackage, installedVersion: string | null): PackageEntry => ({
  name: found.name,
  architecture: found.architecture,
  version: found.version,
  installed_version: installedVersion,
  section: found.section,
  summary: found.summary,
  download_bytes: found.downloadBytes ?? null,
  installed_bytes: found.installedBytes ?? null,
});

const toDetail = (
  found: PackageDetails,
  requiring: readonly RequiringPackage[],
  files: readonly string[] | undefined,
): PackageDetail => ({
  name: found.name,
  architecture: found.architecture,
  installed:
    found.installed === undefined
      ? null
      : {
          version: found.installed.version,
          reason: found.installed.isManual ? "manual" : "automatic",
          held: found.installed.isHeld,
          state: found.installed.state,
        },
  candidate: found.candidate ?? null,
  versions: found.versions.map(({ version, origins }) => ({ version, origins: origins.map((each) => ({ ...each })) })),
  section: found.section,
  priority: found.priority,
  maintainer: found.maintainer,
  homepage: found.homepage,
  summary: found.summary,
  description: found.description,
  download_bytes: found.downloadBytes ?? null,
  installed_bytes: found.installedBytes ?? null,
  essential: found.isEssential,
  depends: [...found.depends],
  provides: [...found.provides],
  required_by: requiring.map(({ name, relation, isAlternative }) => ({ name, relation, alternative: isAlternative })),
  ...defined({ files: files && [...files] }),
});

const redacted = (text: string | undefined): string | null =>
  text === undefined || text === "" ? null : redact(text).text;

const toTransaction = (logged: LoggedTransaction, showsCommand: boolean): PackageTransaction => ({
  started_at: toTimestamp(logged.startedAt),
  ended_at: toNullableTimestamp(logged.endedAt ?? null),
  command: showsCommand ? redacted(logged.commandLine) : null,
  requested_by: logged.requestedBy ?? null,
  error: redacted(logged.error),
  packages: logged.packages.map(({ name, architecture, action, from, to, isAutomatic }) => ({
    name,
    architecture,
    action,
    from: from ?? null,
    to: to ?? null,
    automatic: isAutomatic,
  })),
});

/** Separates the transactions of a log. */
const transactionKey = ({ started_at: at, command }: PackageTransaction): string =>
  `${at} ${command ?? ""}`.slice(0, 100);

/** What is known of packages. */
export function packagesHandlers({ manager, maySee, seesAll }: PackagePorts): Handlers<typeof packages> {
  return {
    async searchPackages({ query }, context) {
      const { name: managerName, installed, lists, catalog } = await cataloguedBy(manager);
      const { caller } = context;
      const signal = context.signal();
      const words = (query.search ?? "").split(/\s+/).filter((word) => word !== "");
      const [found, present, whyNot] = await Promise.all([
        catalog.search(words, signal),
        installed(signal),
        // The search continues where only the sources of the lists cannot be listed.
        lists.refreshedAt().then(
          (at) => (at === undefined ? noLists : undefined),
          (error: unknown) => errorMessage(error),
        ),
      ]);
      const versionOf = installedVersions(present);
      const isPresent = new Set(present.map(({ name }) => name));
      const isWanted = (name: string): boolean =>
        (query.installed === undefined || isPresent.has(name) === query.installed) && maySee(caller, name);
      const places = found.names.flatMap((name, at) => (isWanted(name) ? [{ name, at }] : []));
      const { limit = packageListLimit.default, cursor } = query;
      const { items, shape } = pageOf(inOrder(places, words[0]), { limit, cursor }, ({ name }) => name);
      const toList = (): PackageEntryList => {
        const entries = items.map(({ at }) => found.read(at));
        return {
          packages: entries.map((each) => toEntry(each, versionOf(each))),
          ...shape,
          package_manager: managerName,
          ...notShown("packages that are not installed", whyNot),
        };
      };
      return found.version === undefined ? toList() : new Versioned([found.version], toList);
    },

    async listPackageHistory({ query }, context) {
      const { catalog } = await cataloguedBy(manager);
      const { caller } = context;
      const showsAll = seesAll(caller);
      const { limit = packageHistoryLimit.default, cursor } = query;
      // One more shows whether there is a next page.
      const most = membersUpTo({ limit, cursor }) + 1;
      const all: PackageTransaction[] = [];
      for await (const logged of catalog.history(context.signal())) {
        const seen = logged.packages.filter(({ name }) => maySee(caller, name));
        if (seen.length > 0 || showsAll) all.push(toTransaction({ ...logged, packages: seen }, showsAll));
        if (all.length === most) break;
      }
      const { items, shape } = pageOf(all, { limit, cursor }, transactionKey);
      const reason = all.length === 0 ? await catalog.historyMissing() : undefined;
      const lack = notShown("transactions", reason);
      return { transactions: [...items], limit, next_cursor: shape.next_cursor, ...lack };
    },

    async getPackage({ params: { name }, query }, context) {
      const { catalog } = await cataloguedBy(manager);
      const signal = context.signal();
      const found = await catalog.show(name, signal);
      if (found === undefined)
        throw new DomainError("NOT_FOUND", `cannot find the package ${name}: it is in no list and not installed`, {
          package: packageOf(name),
        });
      const isInstalled = found.installed !== undefined;
      const requiring = isInstalled ? await catalog.requiring(name, signal) : [];
      const files = isInstalled && query.files === true ? await catalog.filesOf(name, signal) : undefined;
      const visible = requiring.filter((each) => maySee(context.caller, each.name));
      return toDetail(found, visible, files);
    },
  };
}
