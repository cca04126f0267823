import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { CommandResult } from "#adapters/exec/index.ts";
import {
  isSameVersion,
  PackageFileMissing,
  type PackageFiles,
  type PackageVersion,
  type PresentPackage,
} from "#domain/ports/packages.ts";
import { fetchFile, type IsWhole } from "../common/package-files.ts";
import type { PackagePorts } from "../common/ports.ts";
import { settle, type Transact } from "../common/transactions.ts";
import { aptPaths, onlyAsking, onlyTrusted } from "./arguments.ts";
import { archives, namesAtOnce } from "./commit.ts";
import { configurationFilesOf, repack } from "./repack.ts";
import { createRestore } from "./restore.ts";

const downloads = ["--option=Acquire::Retries=0", "--option=Acquire::http::Timeout=15"] as const;

const noAnswer = /Could not (resolve|connect)|Unable to connect|Temporary failure|timed out|unreachable/i;
/** Apt's words for a version that is in no list, and for one that is only installed. */
const versionNowhere =
  /Version '([^']+)' for '([^']+)' was not found|Can't find a source to download version '([^']+)' of '([^']+)'/g;
const prefetched = "prefetched";
const silenceMs = 10 * 60_000;

export const archiveName = ({ name, architecture, version }: PackageVersion): string =>
  `${name}_${version.replaceAll(":", "%3a")}_${architecture}.deb`;

export function parseIdentity(text: string): PackageVersion {
  const field = (key: string): string => new RegExp(`^${key}: (\\S+)$`, "m").exec(text)?.[1] ?? "";
  return { name: field("Package"), architecture: field("Architecture"), version: field("Version") };
}

/** Its version is left out: of a package for one architecture there is one. */
const fileName: PackageFiles["fileName"] = ({ name, architecture }) => `${name}_${architecture}.deb`;

async function configFiles(): Promise<ReadonlyMap<string, string>> {
  const stanzas = (await readFile(aptPaths.status, "utf8")).split("\n\n");
  return new Map(
    stanzas.flatMap((stanza) => {
      const { name } = parseIdentity(stanza);
      return configurationFilesOf(stanza).map(({ path }) => [path.replace(/^\/etc\//, ""), name] as const);
    }),
  );
}

/** What apt cannot download, as `name=version`. */
function missingIn(fault: string): ReadonlySet<string> {
  const found = [...fault.matchAll(versionNowhere)].map(([, listed, name = "", installed = "", other = ""]) =>
    listed === undefined ? `${other.replace(/:.*/, "")}=${installed}` : `${name.replace(/:.*/, "")}=${listed}`,
  );
  return new Set(found);
}

export function createAptPackageFiles(
  ports: PackagePorts & { readonly transact: Transact; readonly present: () => Promise<readonly PresentPackage[]> },
): PackageFiles {
  const { exec, clock, transact, present } = ports;
  /** Until then the repositories are not asked again: for hundreds of packages the waits would add up. */
  let silentUntilMs = Number.NEGATIVE_INFINITY;
  /** Versions that no repository had when they were prefetched. */
  const nowhere = new Set<string>();

  const ask = (path: string, signal: AbortSignal): Promise<CommandResult> =>
    exec(["/usr/bin/dpkg-deb", "--field", path, "Package", "Architecture", "Version"], { signal });

  const identify: PackageFiles["identify"] = async (path, signal) => {
    const { exitCode, stdout, stderr } = await ask(path, signal);
    if (exitCode !== 0) throw new Error(`${basename(path)} is not a package file: ${stderr.trim()}`);
    return parseIdentity(stdout);
  };

  const isWhole: IsWhole = async (path, wanted, signal) => {
    const { exitCode, stdout } = await ask(path, signal);
    if (exitCode !== 0 || !isSameVersion(parseIdentity(stdout), wanted)) return false;
    const options = { signal, timeoutMs: 10 * 60_000, maxOutputBytes: 1024 };
    return (await exec(["/usr/bin/dpkg-deb", "--contents", path], options)).exitCode === 0;
  };

  const selectorOf = ({ name, architecture, version }: PackageVersion): string =>
    `${architecture === "all" ? name : `${name}:${architecture}`}=${version}`;

  const downloadAll = async (selectors: readonly string[], own: string, signal: AbortSignal): Promise<string> => {
    const words = [...onlyAsking, ...onlyTrusted, ...downloads, "download", "--", ...selectors];
    const argv = ["/usr/bin/env", `--chdir=${own}`, "/usr/bin/apt-get", "--quiet=2", ...words] as const;
    const { exitCode, stderr } = await exec(argv, { signal, timeoutMs: 60 * 60_000 });
    if (exitCode !== 0 && noAnswer.test(stderr)) silentUntilMs = clock.monotonicMs() + silenceMs;
    return exitCode === 0 ? "" : stderr;
  };

  const download = async (wanted: PackageVersion, own: string, signal: AbortSignal): Promise<string | undefined> => {
    if (clock.monotonicMs() < silentUntilMs || nowhere.has(selectorOf(wanted))) return undefined;
    const early = join(own, "..", prefetched, archiveName(wanted));
    if (existsSync(early)) return early;
    const fault = await downloadAll([selectorOf(wanted)], own, signal);
    const [file] = await readdir(own);
    return fault === "" && file !== undefined ? join(own, file) : undefined;
  };

  /** Apt downloads nothing where one version is nowhere: those that it names are left out the next time. */
  const prefetchSome = async (wanted: readonly PackageVersion[], own: string, signal: AbortSignal): Promise<void> => {
    let left = wanted;
    while (left.length > 0 && clock.monotonicMs() >= silentUntilMs) {
      const fault = await downloadAll(left.map(selectorOf), own, signal);
      const missing = missingIn(fault);
      const isNowhere = ({ name, version }: PackageVersion): boolean => missing.has(`${name}=${version}`);
      for (const each of left.filter(isNowhere)) nowhere.add(selectorOf(each));
      const rest = left.filter((each) => !isNowhere(each));
      if (fault === "" || rest.length === left.length) return;
      left = rest;
    }
  };

  return {
    present,
    configFiles,
    fileName,
    identify,
    async prefetch(wanted, directory, signal) {
      nowhere.clear();
      const missing = wanted.filter((each) => !existsSync(join(archives, archiveName(each))));
      const own = join(directory, prefetched);
      await mkdir(own, { recursive: true });
      for (let at = 0; at < missing.length; at += namesAtOnce)
        await prefetchSome(missing.slice(at, at + namesAtOnce), own, signal);
    },
    async fetch(wanted, directory, signal) {
      const { name, architecture, version, state } = wanted;
      const file = fileName(wanted);
      if (state !== "configuration") {
        const cached = [join(archives, archiveName(wanted))];
        const sources = { cached, download: (own: string) => download(wanted, own, signal) };
        const origin = await fetchFile({ wanted, isWhole, target: join(directory, file) }, sources, signal);
        if (origin !== undefined) return { name: file, origin };
      }
      if ((await repack(wanted, { exec, directory }, signal)) !== undefined) return { name: file, origin: "installed" };
      throw new PackageFileMissing(
        `${name} ${version} (${architecture}) is neither installed nor in the cache or in a repository`,
      );
    },
    restore: createRestore({
      exec,
      transact,
      settled: (unit, signal) => settle(ports, unit, signal),
      identify,
      present,
    }),
  };
}
