import { readdir, readFile } from "node:fs/promises";
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
import { archives } from "./commit.ts";
import { configurationFilesOf, repack } from "./repack.ts";
import { createRestore } from "./restore.ts";
import { aptPaths, onlyAsking, onlyTrusted } from "./words.ts";

const downloads = ["--option=Acquire::Retries=0", "--option=Acquire::http::Timeout=15"] as const;

const noAnswer = /Could not (resolve|connect)|Unable to connect|Temporary failure|timed out|unreachable/i;
const silenceMs = 10 * 60_000;

export const archiveName = ({ name, architecture, version }: PackageVersion): string =>
  `${name}_${version.replaceAll(":", "%3a")}_${architecture}.deb`;

export function parseIdentity(text: string): PackageVersion {
  const field = (key: string): string => new RegExp(`^${key}: (\\S+)$`, "m").exec(text)?.[1] ?? "";
  return { name: field("Package"), architecture: field("Architecture"), version: field("Version") };
}

/** Its version is left out: of a package for one architecture there is one. */
const fileName: PackageFiles["fileName"] = ({ name, architecture }) => `${name}_${architecture}.deb`;

export function createAptPackageFiles(
  ports: PackagePorts & { readonly transact: Transact; readonly present: () => Promise<readonly PresentPackage[]> },
): PackageFiles {
  const { exec, clock, transact, present } = ports;
  /** Until then the repositories are not asked again: for hundreds of packages the waits would add up. */
  let silentUntilMs = Number.NEGATIVE_INFINITY;

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

  const download = async (wanted: PackageVersion, own: string, signal: AbortSignal): Promise<string | undefined> => {
    if (clock.monotonicMs() < silentUntilMs) return undefined;
    const { name, architecture, version } = wanted;
    const selector = architecture === "all" ? name : `${name}:${architecture}`;
    const words = [...onlyAsking, ...onlyTrusted, ...downloads, "download", "--", `${selector}=${version}`];
    const argv = ["/usr/bin/env", `--chdir=${own}`, "/usr/bin/apt-get", "--quiet=2", ...words] as const;
    const { exitCode, stderr } = await exec(argv, { signal, timeoutMs: 10 * 60_000 });
    if (exitCode !== 0 && noAnswer.test(stderr)) silentUntilMs = clock.monotonicMs() + silenceMs;
    const [file] = await readdir(own);
    return exitCode === 0 && file !== undefined ? join(own, file) : undefined;
  };

  return {
    present,
    async configFiles() {
      const stanzas = (await readFile(aptPaths.status, "utf8")).split("\n\n");
      return new Map(
        stanzas.flatMap((stanza) => {
          const { name } = parseIdentity(stanza);
          return configurationFilesOf(stanza).map(({ path }) => [path.replace(/^\/etc\//, ""), name] as const);
        }),
      );
    },
    fileName,
    identify,
    async fetch(wanted, folder, signal) {
      const { name, architecture, version, state } = wanted;
      const file = fileName(wanted);
      if (state !== "configuration") {
        const cached = [join(archives, archiveName(wanted))];
        const sources = { cached, download: (own: string) => download(wanted, own, signal) };
        const origin = await fetchFile({ wanted, isWhole, target: join(folder, file) }, sources, signal);
        if (origin !== undefined) return { name: file, origin };
      }
      if ((await repack(wanted, { exec, folder }, signal)) !== undefined) return { name: file, origin: "installed" };
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
