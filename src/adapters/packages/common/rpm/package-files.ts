import type { PackageVersion } from "#domain/ports/packages.ts";
import type { Missing } from "../package-files.ts";
import type { Argv, PackagePorts } from "../ports.ts";
import { settle } from "../transactions.ts";
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

/** Rpm names temporary files by the second: residue of a killed one blocks the next within the same second. */
const rpmSecondMs = 1_000;

export async function settleRpm(host: Parameters<typeof settle>[0], unit: string, signal: AbortSignal): Promise<void> {
  await settle(host, unit, signal);
  await host.clock.sleep(rpmSecondMs, signal);
  signal.throwIfAborted();
}

export function isJust(done: readonly string[], { install, remove }: Missing): boolean {
  const wanted = [...install.map((each) => `+${nevraOf(each)}`), ...remove.map((each) => `-${nevraOf(each)}`)];
  return [...new Set(done)].sort().join() === wanted.sort().join();
}

/** What rpm knows of the files of packages, whichever manager it works for. @param rpm for this host or its tree. */
export const rpmFiles = (ports: PackagePorts, rpm: Argv) => ({
  async configFiles(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const words = ["--query", "--all", "--configfiles", "--queryformat=|%{NAME}\\n"];
    const { exitCode, stdout, stderr } = await ports.exec([...rpm, ...words], { signal, timeoutMs: 60_000 });
    if (exitCode !== 0) throw new Error(`rpm does not list configuration files: ${stderr.trim()}`);
    return parseConfigFiles(stdout);
  },
  ending: ".rpm",
  repositoryName: fileNameOf,
  async inspect(path: string, signal: AbortSignal): Promise<PackageVersion | string> {
    const words = ["--query", "--nosignature", `--queryformat=${identityFormat}`, "--package", "--", path];
    const { exitCode, stdout, stderr } = await ports.exec(["/usr/bin/rpm", ...words], { signal });
    return (exitCode === 0 ? parseIdentity(stdout) : undefined) ?? stderr.trim();
  },
  async isIntact(path: string, signal: AbortSignal): Promise<boolean> {
    const words = ["--checksig", "--nosignature", "--", path];
    return (await ports.exec(["/usr/bin/rpm", ...words], { signal, timeoutMs: 10 * 60_000 })).exitCode === 0;
  },
  settle: (unit: string, signal: AbortSignal) => settleRpm(ports, unit, signal),
});
