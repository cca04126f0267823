import { release } from "node:os";
import type { Exec } from "#adapters/exec/index.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import type { Argv } from "../ports.ts";

/** Files of the kernel of a release, where distributions have them. */
const kernelFiles = (running: string): readonly string[] =>
  ["/boot/vmlinuz-", "/lib/modules/", "/usr/lib/modules/"]
    .map((start) => `${start}${running}`)
    .flatMap((path) => (path.startsWith("/boot/") ? [path] : [path, `${path}/vmlinuz`, `${path}/kernel`]));

/** Names of the packages that own the files that rpm was asked about. Its other lines name files that no package owns. */
const parseOwners = (text: string): readonly string[] =>
  text.split("\n").flatMap((line) => /^\|(\S+)$/.exec(line)?.[1] ?? []);

/** Why packages are never removed, by name: what the manager says that it protects, what it is made of, and what the host starts with. */
export function createUnremovable(
  host: {
    readonly name: string;
    readonly rpm: Argv;
    readonly ownPackages: readonly string[];
    readonly protectedNames: () => Promise<readonly string[]>;
  },
  { exec, running = release() }: { readonly exec: Exec; readonly running?: string },
): PackageManager["unremovable"] {
  const ownersOf = async (words: readonly string[], signal: AbortSignal): Promise<readonly string[]> => {
    // It fails where one of several files is of no package, or is not there.
    const { stdout } = await exec([...host.rpm, "--query", "--queryformat=|%{NAME}\\n", ...words], { signal });
    return parseOwners(stdout);
  };

  return async (signal) => {
    const kernels = await ownersOf(["--file", "--", ...kernelFiles(running)], signal);
    const releases = await ownersOf(["--whatprovides", "--", "system-release", "distribution-release"], signal);
    const protectedNames = await host.protectedNames();
    const all: readonly (readonly [reason: string, names: readonly string[]])[] = [
      [`${host.name} protects it`, protectedNames],
      ["it says which release of the distribution this is", releases],
      ["its kernel runs", kernels],
      ["the host starts with it", ["systemd"]],
      ["it is the package manager", ["rpm", ...host.ownPackages]],
    ];
    return new Map(all.flatMap(([reason, names]) => names.map((each) => [each, reason] as const)));
  };
}
