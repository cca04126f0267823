import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { marksOf } from "../files.ts";
import type { DpkgDatabase } from "./database.ts";
import { isPackageName, nativeArchitecture, wordFor } from "./names.ts";
import { failureReason } from "./output.ts";
import type { AptPaths } from "./paths.ts";
import { onlyAsking } from "./paths.ts";
import { newerVersions, parsePackageFiles, parsePolicies, securitySuites, securityVersion } from "./policy.ts";
import type { DpkgEntry } from "./status-file.ts";

/** A package that is installed and of which there is a newer version that may be installed. */
export interface Offer {
  readonly entry: DpkgEntry;
  /** What an upgrade brings it to. */
  readonly candidate: string;
  /** The security archives whose versions are newer than what is installed. */
  readonly suites: readonly string[];
  /** The newest version that a security archive itself has. */
  readonly securityVersion: string | null;
}

/** What could be updated, asked of apt and remembered until its lists, its settings or what is installed change. */
export function createOffers(ports: {
  readonly exec: Exec;
  readonly database: () => Promise<DpkgDatabase>;
  readonly paths: AptPaths;
}): (signal: AbortSignal) => Promise<readonly Offer[]> {
  const { exec, database, paths } = ports;
  let last: { readonly mark: string; readonly offers: readonly Offer[] } | undefined;

  const ask = async (words: readonly string[], signal: AbortSignal): Promise<string> => {
    const argv = ["/usr/bin/apt-cache", ...onlyAsking, "policy", ...words] as const;
    const { exitCode, stdout, stderr, truncated } = await exec(argv, { signal, maxOutputBytes: 64 * 1024 * 1024 });
    if (exitCode !== 0) throw new CommandFailed(`cannot ask apt: ${failureReason(stderr, exitCode)}`);
    if (truncated) throw new CommandFailed("cannot ask apt: its answer has no end");
    return stdout;
  };

  const askOffers = async (entries: readonly DpkgEntry[], signal: AbortSignal): Promise<readonly Offer[]> => {
    const native = nativeArchitecture(entries);
    const installed = entries.filter(({ state }) => state === "installed");
    const byWord = new Map(installed.map((entry) => [wordFor(entry, native), entry]));
    const words = [...byWord.keys()].filter(isPackageName);
    // Each builds apt's index of all packages in memory, which is what takes the time.
    const [asFiles, asPolicies] = await Promise.all([
      ask([], signal),
      words.length === 0 ? "" : ask(["--", ...words], signal),
    ]);
    const files = parsePackageFiles(asFiles);
    const policies = parsePolicies(asPolicies);
    return policies.flatMap((policy) => {
      const entry = byWord.get(policy.name) ?? byWord.get(`${policy.name}:${native}`);
      const { candidate } = policy;
      if (entry === undefined || candidate === null || newerVersions(policy).length === 0) return [];
      const suites = securitySuites(policy, files);
      return [{ entry, candidate, suites, securityVersion: securityVersion(policy, files) }];
    });
  };

  return async (signal) => {
    const { entries, mark: databaseMark } = await database();
    const mark = `${databaseMark}\n${await marksOf([paths.lists, ...paths.settings])}`;
    if (last?.mark !== mark) last = { mark, offers: await askOffers(entries, signal) };
    return last.offers;
  };
}
