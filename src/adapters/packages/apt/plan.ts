import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import {
  type ChangeRequest,
  noChanges,
  type PackageChange,
  type TransactionPlan,
  UpdateRefused,
  type UpdateRequest,
} from "#domain/ports/packages.ts";
import { type AptArguments, isPackageName, onlyAsking, toArguments } from "./arguments.ts";
import { type DpkgDatabase, type DpkgEntry, nativeArchitecture, wordFor } from "./database.ts";
import type { Offer } from "./offers.ts";
import { failureReason } from "./output.ts";
import { changesOf, parseDownloadBytes, parseGrowthBytes, parseSimulation, parseUnmet } from "./simulation.ts";

/** More than any archive has by itself, and not enough to go back to an older version. */
const priority = 1000;

export const securityPreferences = (offers: readonly Offer[], native: string): string =>
  offers
    .map(({ entry, securityVersion }) => {
      const version = securityVersion ?? entry.version;
      return `Package: ${wordFor(entry, native)}\nPin: version ${version}\nPin-Priority: ${priority}\n`;
    })
    .join("\n");

export async function withPreferences<T>(
  text: string,
  hostPreferences: string,
  work: (option: string) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "steward-apt-"));
  try {
    const path = join(directory, "preferences");
    const own = await readTextOrEmpty(hostPreferences);
    await writeFile(path, `${text}\n${own}`);
    return await work(`--option=Dir::Etc::preferences=${path}`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const alsoPhased = [
  "--option=APT::Get::Always-Include-Phased-Updates=true",
  "--option=APT::Get::Never-Include-Phased-Updates=false",
] as const;

const askMs = 120_000;
const maxOutputBytes = 64 * 1024 * 1024;

function obstacleIn(output: string, exitCode: number): string {
  const unmet = parseUnmet(output).map(({ name, needs }) => `${name} (${needs})`);
  return unmet.length > 0 ? `dependencies cannot be met: ${unmet.join(", ")}` : failureReason(output, exitCode);
}

/** A name may stand for itself with or without its architecture. */
const isNamed = (name: string, found: Pick<DpkgEntry, "name" | "architecture">): boolean =>
  found.name === name || `${found.name}:${found.architecture}` === name;

/** @throws UpdateRefused for what is held, not there to be removed, or no name. */
function demandChangeable({ change, names }: ChangeRequest, entries: readonly DpkgEntry[]): void {
  for (const name of names) {
    if (!isPackageName(name)) throw new UpdateRefused(`${name} is not a package name`);
    const found = entries.filter((entry) => isNamed(name, entry) && entry.state !== "not-installed");
    const isThere = change === "purge" ? found.length > 0 : found.some(({ state }) => state !== "config-files");
    if (change !== "install" && !isThere) throw new UpdateRefused(`${name} is not installed`);
    if (found.some(({ want }) => want === "hold")) throw new UpdateRefused(`${name} is held at its version`);
  }
}

/** To apt a name that it does not know may be an expression, or say that another package is to go. */
function demandNamed({ names }: ChangeRequest, changes: readonly PackageChange[], entries: readonly DpkgEntry[]): void {
  for (const name of names) {
    const isThere = entries.some((entry) => isNamed(name, entry) && entry.state === "installed");
    if (isThere || changes.some((each) => isNamed(name, each))) continue;
    throw new UpdateRefused(`${name} is not a package (a name that others provide is not one: name one of them)`);
  }
}

interface Known {
  readonly entries: readonly DpkgEntry[];
  readonly offers: readonly Offer[];
}

function chosen(names: readonly string[], entries: readonly DpkgEntry[]): readonly DpkgEntry[] {
  return [...new Set(names)].flatMap((name) => {
    const found = entries.filter(
      (entry) => entry.state === "installed" && (entry.name === name || `${entry.name}:${entry.architecture}` === name),
    );
    if (found.length === 0 || !isPackageName(name)) throw new UpdateRefused(`${name} is not installed`);
    if (found.some(({ want }) => want === "hold")) throw new UpdateRefused(`${name} is held at its version`);
    return found;
  });
}

/** A security update that needs other changes too is refused: it is neither made in part nor with them. */
function demandOnlySecurity(changes: readonly PackageChange[]): void {
  const other = changes.find(({ isSecurity, from, to }) => !isSecurity && (from !== null || to === null));
  if (other !== undefined)
    throw new UpdateRefused(`${other.name} ${other.to ?? "removed"} would be needed, which is not a security update`);
}

/** Of what only its configuration is left, apt gives no version. */
const withVersions = (changes: readonly PackageChange[], { entries }: Known): readonly PackageChange[] =>
  changes.map((each) => {
    if (each.from !== "" && (each.from !== null || each.to !== null)) return each;
    const entry = entries.find(({ name, architecture }) => name === each.name && architecture === each.architecture);
    return { ...each, from: entry?.version ?? null, ...(entry?.state === "config-files" && { isLeftover: true }) };
  });

const markRequested = ({ change, names }: ChangeRequest, changes: readonly PackageChange[]): readonly PackageChange[] =>
  changes.map((each) =>
    change === "install" && names.some((name) => isNamed(name, each)) ? { ...each, isRequested: true } : each,
  );

function completed(request: ChangeRequest, plan: TransactionPlan, now: Known): TransactionPlan {
  demandNamed(request, plan.changes, now.entries);
  const changes = markRequested(request, plan.changes);
  return { ...plan, changes, ...(request.change === "purge" && { isPurge: true }) };
}

const createAsking =
  (exec: Exec) =>
  async (how: string, words: AptArguments, signal: AbortSignal): Promise<string> => {
    const argv = ["/usr/bin/apt-get", ...onlyAsking, how, ...toArguments(words)] as const;
    const { exitCode, stdout, stderr } = await exec(argv, { signal, timeoutMs: askMs, maxOutputBytes });
    if (exitCode !== 0) throw new UpdateRefused(obstacleIn(`${stdout}\n${stderr}`, exitCode));
    return stdout;
  };

export function createSimulate(ports: {
  readonly exec: Exec;
  readonly database: () => Promise<DpkgDatabase>;
  readonly offers: (signal: AbortSignal) => Promise<readonly Offer[]>;
  readonly preferences: string;
}) {
  const { exec, database, offers, preferences } = ports;

  const known = async (signal: AbortSignal): Promise<Known> => {
    const now = await offers(signal);
    return { entries: (await database()).entries, offers: now };
  };

  const ask = createAsking(exec);

  const changesFor = async (words: AptArguments, now: Known, signal: AbortSignal): Promise<readonly PackageChange[]> =>
    withVersions(changesOf(parseSimulation(await ask("--simulate", words, signal)), now), now);

  const planFor = async (words: AptArguments, now: Known, signal: AbortSignal): Promise<TransactionPlan> => {
    const changes = await changesFor(words, now, signal);
    if (changes.length === 0) return { changes, downloadBytes: 0, diskBytes: 0 };
    const uris = await ask("--print-uris", words, signal);
    return { changes, downloadBytes: parseDownloadBytes(uris), diskBytes: parseGrowthBytes(uris) };
  };

  const planSecurity = async (names: readonly string[] | undefined, now: Known, signal: AbortSignal) => {
    const native = nativeArchitecture(now.entries);
    const options = ["--no-remove"];
    if (names === undefined)
      return withPreferences(securityPreferences(now.offers, native), preferences, (option) => {
        const words = { options: [...options, "--with-new-pkgs", option], verb: "upgrade", operands: [] } as const;
        return planFor(words, now, signal);
      });
    const entries = chosen(names, now.entries);
    const operands = now.offers.flatMap(({ entry, securityVersion }) =>
      securityVersion !== null && entries.includes(entry) ? [`${wordFor(entry, native)}=${securityVersion}`] : [],
    );
    if (operands.length === 0) return noChanges;
    return planFor({ options, verb: "install", operands }, now, signal);
  };

  /** Apt installs early what it is asked to install: only an upgrade asks whose turn it is. */
  const demandTurn = async (entries: readonly DpkgEntry[], now: Known, signal: AbortSignal): Promise<void> => {
    const upgraded = async (...more: readonly string[]): Promise<readonly PackageChange[]> =>
      changesFor({ options: ["--with-new-pkgs", ...more], verb: "upgrade", operands: [] }, now, signal);
    const without = (changes: readonly PackageChange[]) => (entry: DpkgEntry) =>
      changes.every(({ name, architecture }) => name !== entry.name || architecture !== entry.architecture);
    const left = entries.filter(without(await upgraded()));
    const offered = left.filter(({ name }) => now.offers.some(({ entry }) => entry.name === name));
    if (offered.length === 0) return;
    const isLater = without(await upgraded(...alsoPhased));
    const first = offered.find((entry) => !isLater(entry));
    if (first !== undefined)
      throw new UpdateRefused(
        `the update of ${first.name} is phased, and it is not this host's turn yet (wait, or install it with apt-get)`,
      );
  };

  return {
    /** Packages that are named come or go, with what apt takes along. */
    async change(request: ChangeRequest, signal: AbortSignal): Promise<TransactionPlan> {
      const now = await known(signal);
      demandChangeable(request, now.entries);
      const operands = [...new Set(request.names)];
      return completed(request, await planFor({ options: [], verb: request.change, operands }, now, signal), now);
    },

    planWords: async (words: AptArguments, signal: AbortSignal): Promise<TransactionPlan> =>
      planFor(words, await known(signal), signal),

    async changes(words: AptArguments, signal: AbortSignal): Promise<readonly PackageChange[]> {
      return changesFor(words, await known(signal), signal);
    },

    async plan({ type, isSecurityOnly, names }: UpdateRequest, signal: AbortSignal): Promise<TransactionPlan> {
      const now = await known(signal);
      if (isSecurityOnly) {
        const plan = await planSecurity(names, now, signal);
        demandOnlySecurity(plan.changes);
        return plan;
      }
      const options = type === "packages" ? ["--no-remove"] : [];
      if (names !== undefined) {
        const native = nativeArchitecture(now.entries);
        const operands = chosen(names, now.entries).map((entry) => wordFor(entry, native));
        if (operands.length === 0) return noChanges;
        await demandTurn(chosen(names, now.entries), now, signal);
        return planFor({ options: [...options, "--only-upgrade"], verb: "install", operands }, now, signal);
      }
      if (type === "packages")
        return planFor({ options: [...options, "--with-new-pkgs"], verb: "upgrade", operands: [] }, now, signal);
      return planFor({ options, verb: "dist-upgrade", operands: [] }, now, signal);
    },
  };
}

export type Simulate = ReturnType<typeof createSimulate>;
