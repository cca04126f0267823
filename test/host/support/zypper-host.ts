import { createPackageWork } from "./package-work.ts";
import { rpmRepository } from "./rpm-host.ts";
import type { Session } from "./session.ts";

/** A tree on the Debian host with packages of its own, which zypper looks after. */
export const zypperRoot = "/srv/zypperhost";

const below = (path: string): string => `${zypperRoot}/${path}`;
export const zypperLock = below("run/zypp.pid");

/** Makes the tree: it has no packages yet. */
export async function makeZypperRoot({ host }: Pick<Session, "host">): Promise<void> {
  // Debian's rpm has its database at home.
  await host.writeFile("/etc/rpm/macros", "%_dbpath /var/lib/rpm\n");
  await host.writeFile(below("etc/zypp/zypp.conf"), "[main]\nmultiversion = provides:multiversion(kernel)\n");
  await describeRelease({ host }, "opensuse-leap");
  await useRepository({ host }, ["gpgcheck=0"]);
}

/** Which distribution the tree is of. */
export const describeRelease = ({ host }: Pick<Session, "host">, id: string): Promise<void> =>
  host.writeFile(below("etc/os-release"), `NAME=test\nID="${id}"\nID_LIKE="suse opensuse"\n`);

/** Registers the repository with zypper; the lines say what of it must be signed. */
export const useRepository = ({ host }: Pick<Session, "host">, lines: readonly string[]): Promise<void> => {
  const repository = ["[base]", "name=base", "enabled=1", "autorefresh=1", `baseurl=file://${rpmRepository}`, ...lines];
  return host.writeFile(below("etc/zypp/repos.d/base.repo"), `${repository.join("\n")}\n`);
};

/** Zypper as an administrator uses it in the tree. */
export const zypperWords = ["zypper", "--root", zypperRoot, "--non-interactive", "--quiet"] as const;

/** The adapter of zypper on the tree. */
export const zypperAdapter = createPackageWork("zypper", zypperRoot);
