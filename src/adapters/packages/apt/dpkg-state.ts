import { readFile } from "node:fs/promises";
import type { InstalledPackage, PresentPackage } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import type { DpkgDatabase } from "./database.ts";
import type { DpkgEntry } from "./status-file.ts";

/** Where apt keeps which packages nobody asked for. */
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

function stateOf({ state, flag }: DpkgEntry): PresentPackage["state"] {
  if (flag !== "ok") return "unfinished";
  if (state === "installed") return "installed";
  return state === "config-files" ? "configuration" : "unfinished";
}

/** The packages of which dpkg has something. */
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
      state: stateOf(entry),
      isManual: entry.state !== "config-files" && !isAutomatic(entry, automatic),
      isHeld: entry.want === "hold",
    }));
}

/** Reads the packages that are present, with apt's marks. */
export async function readPresent(
  database: () => Promise<Pick<DpkgDatabase, "entries">>,
  states = extendedStates,
): Promise<readonly PresentPackage[]> {
  const { entries } = await database();
  return presentPackages(entries, parseExtendedStates((await orUndefined(readFile(states, "utf8"))) ?? ""));
}

/** Which marks have to be set so that those packages have the ones that are wanted: arguments of `apt-mark`. */
export function markCommands(
  wanted: readonly InstalledPackage[],
  present: readonly PresentPackage[],
): readonly { readonly verb: "auto" | "manual" | "hold" | "unhold"; readonly names: readonly string[] }[] {
  const now = new Map(present.map((each) => [`${each.name}:${each.architecture}`, each]));
  const where = (differs: (is: InstalledPackage, was: InstalledPackage) => boolean): readonly string[] =>
    wanted.flatMap((was) => {
      const name = `${was.name}:${was.architecture}`;
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
