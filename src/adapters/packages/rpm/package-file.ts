import { basename } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { PackageFiles, PackageVersion } from "#domain/ports/packages.ts";
import { nevraOf, parseNevra, versionOf } from "./names.ts";
import { splitVersion } from "./version.ts";

const identityFormat = "%{NAME}|%{EPOCHNUM}|%{VERSION}|%{RELEASE}|%{ARCH}\\n";

/** Reads what `rpm --query` prints in that format; undefined where it is no package. */
export function parseIdentity(text: string): PackageVersion | undefined {
  const [name = "", epoch = "", version = "", release = "", architecture = ""] = text.trim().split("|");
  const found = { name, version: versionOf(epoch, version, release), architecture };
  return parseNevra(nevraOf(found)) === undefined ? undefined : found;
}

/** What repositories call the file of a package. */
export const fileNameOf = ({ name, version, architecture }: PackageVersion): string => {
  const { version: main, release } = splitVersion(version);
  return `${name}-${main}-${release}.${architecture}.rpm`;
};

/** What files of packages are called here: with the epoch too, which repositories leave out. */
export const keptNameOf = (wanted: PackageVersion): string => `${nevraOf(wanted).replaceAll(":", "%3a")}.rpm`;

/** Asks rpm what package files are. */
export function createPackageFile({ exec }: { readonly exec: Exec }) {
  const ask = async (path: string, signal: AbortSignal): Promise<PackageVersion | string> => {
    const words = ["--query", "--nosignature", `--queryformat=${identityFormat}`, "--package", "--", path];
    const { exitCode, stdout, stderr } = await exec(["/usr/bin/rpm", ...words], { signal });
    return (exitCode === 0 ? parseIdentity(stdout) : undefined) ?? stderr.trim();
  };

  /** @throws Error where it is no package file. */
  const identify: PackageFiles["identify"] = async (path, signal) => {
    const found = await ask(path, signal);
    if (typeof found === "string") throw new Error(`${basename(path)} is not a package file: ${found}`);
    return found;
  };

  /** Whether a file is just this package, with all that its digests say. */
  const isWhole = async (path: string, wanted: PackageVersion, signal: AbortSignal): Promise<boolean> => {
    const found = await ask(path, signal);
    if (typeof found === "string" || nevraOf(found) !== nevraOf(wanted)) return false;
    const words = ["--checksig", "--nosignature", "--", path];
    return (await exec(["/usr/bin/rpm", ...words], { signal, timeoutMs: 10 * 60_000 })).exitCode === 0;
  };

  return { identify, isWhole };
}
