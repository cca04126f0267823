import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import {
  noChanges,
  type PackageChange,
  type TransactionPlan,
  UpdateRefused,
  type UpdateRequest,
} from "#domain/ports/packages.ts";
import { type DpkgDatabase, type DpkgEntry, nativeArchitecture, wordFor } from "./database.ts";
import type { Offer } from "./offers.ts";
import { failureReason } from "./output.ts";
import { changesOf, parseDownloadBytes, parseGrowthBytes, parseSimulation, parseUnmet } from "./simulation.ts";
import { type AptWords, isPackageName, onlyAsking, toArguments } from "./words.ts";

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
  const folder = await mkdtemp(join(tmpdir(), "steward-apt-"));
  try {
    const path = join(folder, "preferences");
    const own = await readTextOrEmpty(hostPreferences);
    await writeFile(path, `${text}\n${own}`);
    return await work(`--option=Dir::Etc::preferences=${path}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
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

  const ask = async (how: string, words: AptWords, signal: AbortSignal): Promise<string> => {
    const argv = ["/usr/bin/apt-get", ...onlyAsking, how, ...toArguments(words)] as const;
    const { exitCode, stdout, stderr } = await exec(argv, { signal, timeoutMs: askMs, maxOutputBytes });
    if (exitCode !== 0) throw new UpdateRefused(obstacleIn(`${stdout}\n${stderr}`, exitCode));
    return stdout;
  };

  const changesFor = async (words: AptWords, now: Known, signal: AbortSignal): Promise<readonly PackageChange[]> =>
    changesOf(parseSimulation(await ask("--simulate", words, signal)), now);

  const planFor = async (words: AptWords, now: Known, signal: AbortSignal): Promise<TransactionPlan> => {
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

  /** What it is told to install apt installs early: only an upgrade asks whose turn it is. */
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
    planWords: async (words: AptWords, signal: AbortSignal): Promise<TransactionPlan> =>
      planFor(words, await known(signal), signal),

    async changes(words: AptWords, signal: AbortSignal): Promise<readonly PackageChange[]> {
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
