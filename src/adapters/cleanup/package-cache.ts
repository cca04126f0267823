import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { CleanedUp } from "#domain/ports/storage.ts";
import { orUndefinedSync } from "#kernel/errors.ts";

export interface PackageCache {
  readonly directory: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly removes: RegExp;
  /** Paths that belong there and stay. With any other in the directory, the program is not run: it might be removed too. */
  readonly keeps: RegExp;
}

export const packageCaches: readonly PackageCache[] = [
  {
    directory: "/var/cache/apt/archives",
    program: "/usr/bin/apt-get",
    args: [
      "--quiet",
      // Without these it removes its index of packages and half-loaded lists as well.
      "-oDir::Cache::archives=/var/cache/apt/archives",
      "-oDir::Cache::pkgcache=",
      "-oDir::Cache::srcpkgcache=",
      "-oDir::State::lists=/nonexistent",
      "clean",
    ],
    removes: /^(?:[^/]+\.d?deb|partial\/[^/]+)$/,
    keeps: /^(?:lock|partial|auxfiles(?:\/.*)?)$/,
  },
  ...[
    { directory: "/var/cache/dnf", program: "/usr/bin/dnf" },
    { directory: "/var/cache/libdnf5", program: "/usr/bin/dnf5" },
  ].map((cache) => ({
    ...cache,
    args: ["--quiet", "clean", "packages"],
    removes: /\.rpm$/,
    keeps: /^/,
  })),
];

const timeoutMs = 2 * 60_000;

export interface Packages {
  readonly files: readonly string[];
  readonly bytes: number;
  readonly foreign?: string;
}

export function contentsOf({
  directory,
  removes,
  keeps,
}: Pick<PackageCache, "directory" | "removes" | "keeps">): Packages {
  const found = orUndefinedSync(() => readdirSync(directory, { withFileTypes: true, recursive: true })) ?? [];
  const entries = found.map((entry) => ({
    path: join(entry.parentPath, entry.name).slice(directory.length + 1),
    isFile: entry.isFile(),
  }));
  const packages = entries.filter(({ path, isFile }) => isFile && removes.test(path)).map(({ path }) => path);
  const foreign = entries.find(({ path, isFile }) => !keeps.test(path) && !(isFile && removes.test(path)));
  let bytes = 0;
  for (const path of packages) bytes += (orUndefinedSync(() => lstatSync(join(directory, path)))?.blocks ?? 0) * 512;
  return { files: packages.sort(), bytes, ...(foreign !== undefined && { foreign: foreign.path }) };
}

export async function removePackages(cache: PackageCache, exec: Exec, signal: AbortSignal): Promise<CleanedUp> {
  const before = contentsOf(cache);
  if (before.foreign !== undefined)
    throw new Error(`${cache.directory} contains a file that is not of the package manager: ${before.foreign}`);
  const { exitCode, stderr } = await exec([cache.program, ...cache.args], { signal, timeoutMs });
  const after = contentsOf(cache);
  if (exitCode === 0) return { files: before.files.length - after.files.length, bytes: before.bytes - after.bytes };
  throw new CommandFailed(`${cache.program} says: ${stderr.trim().split("\n")[0] || `exit code ${exitCode}`}`);
}
