import { basename, join } from "node:path";
import {
  type InstalledPackage,
  PackageFileMissing,
  type PackageFiles,
  type PackageVersion,
  type Progress,
} from "#domain/ports/packages.ts";
import { fetchFile, type IsWhole } from "../package-files.ts";
import type { Argv, Asks, PackagePorts } from "../ports.ts";
import { settle, unitFor } from "../transactions.ts";
import { nevraOf, parseNevra, splitVersion, versionOf } from "./names.ts";

const identityFormat = "%{NAME}|%{EPOCHNUM}|%{VERSION}|%{RELEASE}|%{ARCH}\\n";

export function parseIdentity(text: string): PackageVersion | undefined {
  const [name = "", epoch = "", version = "", release = "", architecture = ""] = text.trim().split("|");
  const found = { name, version: versionOf(epoch, version, release), architecture };
  return parseNevra(nevraOf(found)) === undefined ? undefined : found;
}

/** Of each package its name after a bar, then its files. */
function parseConfigFiles(text: string): ReadonlyMap<string, string> {
  const packages = `\n${text}`.split("\n|").slice(1);
  return new Map(
    packages.flatMap((each) => {
      const [name = "", ...lines] = each.split("\n");
      return lines
        .filter((line) => line.startsWith("/etc/"))
        .map((path) => [path.slice("/etc/".length), name] as const);
    }),
  );
}

export const fileNameOf = ({ name, version, architecture }: PackageVersion): string => {
  const { version: main, release } = splitVersion(version);
  return `${name}-${main}-${release}.${architecture}.rpm`;
};

/** What files of packages are called here: with the epoch too, which repositories leave out. */
export const keptNameOf = (wanted: PackageVersion): string => `${nevraOf(wanted).replaceAll(":", "%3a")}.rpm`;

/** Rpm names temporary files by the second: residue of a killed one blocks the next within the same second. */
const rpmSecondMs = 1_000;

export async function settleRpm(host: Parameters<typeof settle>[0], unit: string, signal: AbortSignal): Promise<void> {
  await settle(host, unit, signal);
  await host.clock.sleep(rpmSecondMs, signal);
  signal.throwIfAborted();
}

type Target = Parameters<PackageFiles["restore"]>[0];

interface FoundFile extends PackageVersion {
  readonly path: string;
}

export interface Missing {
  readonly install: readonly FoundFile[];
  readonly remove: readonly PackageVersion[];
}

export function missingOf(
  target: { readonly files: readonly FoundFile[]; readonly remove: Target["remove"] },
  installed: readonly PackageVersion[],
): Missing {
  const present = new Set(installed.map(nevraOf));
  // Another version of it may be there to stay.
  const gone = new Set(target.remove.map(nevraOf));
  return {
    install: target.files.filter((file) => !present.has(nevraOf(file))),
    remove: installed.filter((each) => gone.has(nevraOf(each))),
  };
}

export function isJust(done: readonly string[], { install, remove }: Missing): boolean {
  const wanted = [...install.map((each) => `+${nevraOf(each)}`), ...remove.map((each) => `-${nevraOf(each)}`)];
  return [...new Set(done)].sort().join() === wanted.sort().join();
}

/** Package files of a host with rpm. A package cannot be put together again from what is installed. */
export function createRpmPackageFiles<State extends { readonly packages: readonly PackageVersion[] }>(
  ports: PackagePorts,
  host: {
    /** For this host or its tree. */
    readonly rpm: Argv;
    readonly database: Asks<State>;
    readonly toInstalled: (state: State) => readonly InstalledPackage[];
    readonly cached: (wanted: PackageVersion) => Promise<readonly string[]>;
    readonly download: (wanted: PackageVersion, folder: string, signal: AbortSignal) => Promise<string | undefined>;
    /** Does what is missing. @returns why it was not done, or what failed on the way; else empty. */
    readonly change: (unit: string, left: Missing, progress: Progress, signal: AbortSignal) => Promise<string>;
    readonly mark: (unit: string, wanted: Target["marks"], signal: AbortSignal) => Promise<void>;
  },
): PackageFiles {
  const { exec } = ports;
  const { database, toInstalled, cached, download, change, mark } = host;

  const ask = async (path: string, signal: AbortSignal): Promise<PackageVersion | string> => {
    const words = ["--query", "--nosignature", `--queryformat=${identityFormat}`, "--package", "--", path];
    const { exitCode, stdout, stderr } = await exec(["/usr/bin/rpm", ...words], { signal });
    return (exitCode === 0 ? parseIdentity(stdout) : undefined) ?? stderr.trim();
  };

  const identify: PackageFiles["identify"] = async (path, signal) => {
    const found = await ask(path, signal);
    if (typeof found === "string") throw new Error(`${basename(path)} is not a package file: ${found}`);
    return found;
  };

  const isWhole: IsWhole = async (path, wanted, signal) => {
    const found = await ask(path, signal);
    if (typeof found === "string" || nevraOf(found) !== nevraOf(wanted)) return false;
    const words = ["--checksig", "--nosignature", "--", path];
    return (await exec(["/usr/bin/rpm", ...words], { signal, timeoutMs: 10 * 60_000 })).exitCode === 0;
  };

  return {
    present: async (signal) => toInstalled(await database(signal)).map((each) => ({ ...each, state: "installed" })),
    async configFiles(signal) {
      const words = ["--query", "--all", "--configfiles", "--queryformat=|%{NAME}\\n"];
      const { exitCode, stdout, stderr } = await exec([...host.rpm, ...words], { signal, timeoutMs: 60_000 });
      if (exitCode !== 0) throw new Error(`rpm does not list configuration files: ${stderr.trim()}`);
      return parseConfigFiles(stdout);
    },
    fileName: keptNameOf,
    identify,

    async fetch(wanted, folder, signal) {
      const nevra = nevraOf(wanted);
      if (parseNevra(nevra) === undefined || nevra.includes("/"))
        throw new PackageFileMissing(`${JSON.stringify(nevra)} is not a package name`);
      const name = keptNameOf(wanted);
      const fetching = { wanted, isWhole, target: join(folder, name) };
      const sources = { cached: await cached(wanted), download: (own: string) => download(wanted, own, signal) };
      const origin = await fetchFile(fetching, sources, signal);
      if (origin !== undefined) return { name, origin };
      throw new PackageFileMissing(`${nevra} is neither in the cache nor in a repository`);
    },

    async restore(target, { id, progress }, signal) {
      const unit = unitFor(id);
      await settleRpm(ports, unit, signal);
      const files = await Promise.all(target.files.map(async (path) => ({ ...(await identify(path, signal)), path })));
      const missing = async (): Promise<Missing> =>
        missingOf({ files, remove: target.remove }, (await database(signal)).packages);
      const isThere = ({ install, remove }: Missing): boolean => install.length + remove.length === 0;

      const left = await missing();
      progress.step(5, "returning to the packages of the snapshot");
      const reason = isThere(left) ? "" : await change(unit, left, progress, signal);
      await mark(unit, target.marks, signal);
      const after = await missing();
      if (isThere(after) && reason === "") return { isDone: true, reason };
      const names = [...after.install, ...after.remove].map(nevraOf).slice(0, 10).join(", ");
      const reasons = [isThere(after) ? "" : `not as in the snapshot: ${names}`, reason].filter((each) => each !== "");
      return { isDone: false, reason: reasons.join("; ") };
    },
  };
}
