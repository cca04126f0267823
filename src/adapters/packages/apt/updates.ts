import { readdir, stat } from "node:fs/promises";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { PackageUpdates, SecurityUpdate } from "#domain/health/ports.ts";
import { isMissing, marksOf, orUndefined } from "../files.ts";
import type { DpkgDatabase } from "./database.ts";
import { failureReason } from "./output.ts";
import type { AptPaths } from "./paths.ts";
import { onlyAsking } from "./paths.ts";
import { parsePackageFiles, parsePolicies, securitySuites } from "./policy.ts";
import type { DpkgEntry } from "./status-file.ts";

/** The names of Debian's policy; anything else is no name, and is not passed on. */
export const isPackageName = (name: string): boolean => /^[a-z0-9][a-z0-9+.-]*(:[a-z0-9-]+)?$/.test(name);

/** As apt takes it; an architecture is needed only where there may be several. */
const fullName = ({ name, architecture, isMultiArchSame }: DpkgEntry): string =>
  isMultiArchSame ? `${name}:${architecture}` : name;

const isList = (name: string): boolean => !["lock", "partial", "auxfiles"].includes(name);

/** What could be updated, asked of apt and remembered until its lists, its settings or what is installed change. */
export function createUpdates(ports: {
  readonly exec: Exec;
  readonly database: () => Promise<DpkgDatabase>;
  readonly paths: AptPaths;
}): PackageUpdates {
  const { exec, database, paths } = ports;
  let last: { readonly mark: string; readonly updates: readonly SecurityUpdate[] } | undefined;

  const ask = async (words: readonly string[], signal: AbortSignal): Promise<string> => {
    const argv = ["/usr/bin/apt-cache", ...onlyAsking, "policy", ...words] as const;
    const { exitCode, stdout, stderr, truncated } = await exec(argv, { signal, maxOutputBytes: 64 * 1024 * 1024 });
    if (exitCode !== 0) throw new CommandFailed(`cannot ask apt: ${failureReason(stderr, exitCode)}`);
    if (truncated) throw new CommandFailed("cannot ask apt: its answer has no end");
    return stdout;
  };

  const askSecurity = async (
    entries: readonly DpkgEntry[],
    signal: AbortSignal,
  ): Promise<readonly SecurityUpdate[]> => {
    const native = entries.find(({ name }) => name === "dpkg")?.architecture ?? "";
    const installed = entries.filter(({ state }) => state === "installed");
    const byName = new Map(installed.map((entry) => [fullName(entry), entry]));
    const names = [...byName.keys()].filter(isPackageName);
    const files = parsePackageFiles(await ask([], signal));
    const policies = names.length === 0 ? [] : parsePolicies(await ask(["--", ...names], signal));
    return policies.flatMap((policy) => {
      const suites = securitySuites(policy, files);
      const entry = byName.get(policy.name) ?? byName.get(`${policy.name}:${native}`);
      if (suites.length === 0 || entry === undefined) return [];
      const { name, architecture, version, want } = entry;
      return [
        { name, architecture, installed: version, candidate: policy.candidate ?? "", suites, isHeld: want === "hold" },
      ];
    });
  };

  return {
    async security(signal) {
      const { entries, mark: databaseMark } = await database();
      const mark = `${databaseMark}\n${await marksOf([paths.lists, ...paths.settings])}`;
      if (last?.mark !== mark) last = { mark, updates: await askSecurity(entries, signal) };
      return last.updates;
    },

    async refreshedAt() {
      const names = (await orUndefined(readdir(paths.lists), isMissing)) ?? [];
      if (!names.some(isList)) return undefined;
      // A refresh that finds nothing new changes no list; then only the stamp tells of it. The times of the lists are the servers'.
      const stamps = [paths.lists, paths.refreshStamp];
      const times = await Promise.all(stamps.map((path) => orUndefined(stat(path), isMissing)));
      return Math.max(...times.map((file) => file?.mtimeMs ?? 0));
    },
  };
}
