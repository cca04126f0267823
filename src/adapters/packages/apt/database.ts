import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import { type InstalledPackage, type PresentPackage, qualifiedName } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { marksOf, rememberByMark } from "../common/marks.ts";
import { copyOf } from "../common/record-store.ts";
import type { AptPaths } from "./arguments.ts";
import { fieldOf, parseStanzas } from "./deb822.ts";

export interface DpkgEntry {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** Whether versions for several architectures can be installed side by side. */
  readonly isMultiArchSame: boolean;
  /** `install`, `hold`, `deinstall`, `purge`. */
  readonly want: string;
  /** `reinstreq`: what is on disk cannot be relied on. */
  readonly flag: string;
  /** `installed`, `unpacked`, `half-configured`, … */
  readonly state: string;
}

function parseStanza(stanza: string): DpkgEntry | undefined {
  const name = fieldOf(stanza, "Package");
  const [want = "", flag = "", state = ""] = copyOf(fieldOf(stanza, "Status")).split(/\s+/);
  if (name === "" || state === "") return undefined;
  return {
    name: copyOf(name),
    version: copyOf(fieldOf(stanza, "Version")),
    architecture: copyOf(fieldOf(stanza, "Architecture")),
    isMultiArchSame: fieldOf(stanza, "Multi-Arch") === "same",
    want,
    flag,
    state,
  };
}

export function parseStatusFile(text: string): readonly DpkgEntry[] {
  return parseStanzas(text).flatMap((stanza) => parseStanza(stanza) ?? []);
}

const slotOf = ({ name, architecture, isMultiArchSame }: DpkgEntry): string =>
  isMultiArchSame ? qualifiedName({ name, architecture }) : name;

/** What dpkg knows once it has taken up what it wrote down last: each update replaces the entry of its package. */
export function withUpdates(entries: readonly DpkgEntry[], updates: readonly DpkgEntry[]): readonly DpkgEntry[] {
  if (updates.length === 0) return entries;
  const merged = new Map(entries.map((entry) => [slotOf(entry), entry]));
  for (const update of updates) merged.set(slotOf(update), update);
  return [...merged.values()];
}

export interface DpkgDatabase {
  readonly entries: readonly DpkgEntry[];
  /** Whether dpkg has written down changes that it has not yet taken into its status file: it is at work, or was stopped. */
  readonly hasUpdates: boolean;
  readonly mark: string;
}

export function createDatabase(paths: Pick<AptPaths, "status" | "updates">): () => Promise<DpkgDatabase> {
  const remembered = rememberByMark<readonly DpkgEntry[]>();
  const statusEntries = async (): Promise<readonly DpkgEntry[]> =>
    remembered(await marksOf([paths.status]), async () => parseStatusFile((await readFile(paths.status)).toString()));

  const updates = async (): Promise<readonly DpkgEntry[]> => {
    const names = (await orUndefined(readdir(paths.updates))) ?? [];
    const numbered = names.filter((name) => /^\d+$/.test(name)).sort();
    // dpkg removes them when it has taken them up, which may be just now.
    const texts = await Promise.all(numbered.map((name) => orUndefined(readFile(join(paths.updates, name), "utf8"))));
    return texts.flatMap((text) => parseStatusFile(text ?? ""));
  };

  return async () => {
    // What changes while it is read is read again the next time.
    const mark = await marksOf([paths.status, paths.updates]);
    const entries = await statusEntries();
    const changes = await updates();
    return { entries: withUpdates(entries, changes), hasUpdates: changes.length > 0, mark };
  };
}

const extendedStates = "/var/lib/apt/extended_states";

/** `name:architecture` of the packages that are only there because others need them. */
export function parseExtendedStates(text: string): ReadonlySet<string> {
  const stanzas = text.split(/\n\n+/).map((stanza) => `\n${stanza}\n`);
  const automatic = stanzas.filter((stanza) => /\nAuto-Installed: 1\n/.test(stanza));
  return new Set(
    automatic.flatMap((stanza) => {
      const [, name] = /\nPackage: (\S+)\n/.exec(stanza) ?? [];
      const [, architecture = ""] = /\nArchitecture: (\S+)\n/.exec(stanza) ?? [];
      return name === undefined ? [] : [`${name}:${architecture}`];
    }),
  );
}

/** Apt writes the machine's own architecture for a package that is for all of them. */
function isAutomatic({ name, architecture }: DpkgEntry, automatic: ReadonlySet<string>): boolean {
  if (architecture !== "all") return automatic.has(`${name}:${architecture}`);
  return [...automatic].some((each) => each.startsWith(`${name}:`));
}

function presentState({ state, flag }: DpkgEntry): PresentPackage["state"] {
  if (flag !== "ok") return "unfinished";
  if (state === "installed") return "installed";
  return state === "config-files" ? "configuration" : "unfinished";
}

export function presentPackages(
  entries: readonly DpkgEntry[],
  automatic: ReadonlySet<string>,
): readonly PresentPackage[] {
  return entries
    .filter(({ state, version }) => state !== "not-installed" && version !== "")
    .map((entry) => ({
      name: entry.name,
      architecture: entry.architecture,
      version: entry.version,
      state: presentState(entry),
      isManual: entry.state !== "config-files" && !isAutomatic(entry, automatic),
      isHeld: entry.want === "hold",
    }));
}

export async function readPresent(
  database: () => Promise<Pick<DpkgDatabase, "entries">>,
  states = extendedStates,
): Promise<readonly PresentPackage[]> {
  const { entries } = await database();
  return presentPackages(entries, parseExtendedStates(await readTextOrEmpty(states)));
}

/** Which marks must be set so that those packages have the ones that are wanted: arguments of `apt-mark`. */
export function markCommands(
  wanted: readonly InstalledPackage[],
  present: readonly PresentPackage[],
): readonly { readonly verb: "auto" | "manual" | "hold" | "unhold"; readonly names: readonly string[] }[] {
  const now = new Map(present.map((each) => [qualifiedName(each), each]));
  const where = (differs: (is: InstalledPackage, was: InstalledPackage) => boolean): readonly string[] =>
    wanted.flatMap((was) => {
      const name = qualifiedName(was);
      const is = now.get(name);
      return is !== undefined && is.state !== "configuration" && differs(is, was) ? [name] : [];
    });
  return [
    { verb: "auto" as const, names: where((is, was) => is.isManual && !was.isManual) },
    { verb: "manual" as const, names: where((is, was) => !is.isManual && was.isManual) },
    { verb: "hold" as const, names: where((is, was) => !is.isHeld && was.isHeld) },
    { verb: "unhold" as const, names: where((is, was) => is.isHeld && !was.isHeld) },
  ].filter(({ names }) => names.length > 0);
}

export const nativeArchitecture = (entries: readonly DpkgEntry[]): string =>
  entries.find(({ name }) => name === "dpkg")?.architecture ?? "";

/** As apt takes it; an architecture is needed only where there may be several, or it is not the machine's own. */
export const wordFor = (
  { name, architecture, isMultiArchSame }: Pick<DpkgEntry, "name" | "architecture" | "isMultiArchSame">,
  native: string,
): string =>
  isMultiArchSame || (architecture !== "all" && architecture !== native) ? `${name}:${architecture}` : name;

/** Without these a host starts no more, or cannot be helped with packages. */
const vital: ReadonlyMap<string, string> = new Map([
  ["apt", "it is the package manager"],
  ["dpkg", "it is the package manager"],
  ["init", "the host starts with it"],
  ["systemd", "the host starts with it"],
  ["systemd-sysv", "the host starts with it"],
]);

/** The packages of the kernel that runs. */
const isOfKernel = (name: string, running: string): boolean =>
  ["linux-image-", "linux-image-unsigned-", "linux-modules-"].some((prefix) => name === `${prefix}${running}`);

/** By name of an installed package, why it is never removed. */
export function findUnremovable(status: string, running: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const stanza of parseStanzas(status)) {
    const name = fieldOf(stanza, "Package");
    const isMarked = ["Essential", "Protected", "Important"].some((field) => fieldOf(stanza, field) === "yes");
    const reason =
      vital.get(name) ??
      (isMarked ? "it is essential" : undefined) ??
      (isOfKernel(name, running) ? "its kernel runs" : undefined);
    if (reason !== undefined) found.set(name, reason);
  }
  return found;
}

export const readUnremovable = async (path: string, running: string): Promise<ReadonlyMap<string, string>> =>
  findUnremovable(await readFile(path, "utf8"), running);
