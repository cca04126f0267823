import { join } from "node:path";

/** Where rpm and zypper keep what is read here, and the words that make them work there. */
export interface ZypperPlaces {
  readonly zypper: readonly [program: string, ...args: string[]];
  readonly rpm: readonly [program: string, ...args: string[]];
  /** Folders of rpm's database: it has moved. */
  readonly databases: readonly string[];
  /** Names of packages that are here because others need them. */
  readonly autoInstalled: string;
  /** The lists as they were downloaded, a folder for each repository. */
  readonly lists: string;
  /** Package files as they were downloaded, where the repository says that they are to be kept. */
  readonly packages: string;
  /** Names the process that changes packages; it is left behind when that one is killed. */
  readonly lock: string;
  /** Patterns of packages that are kept at their version. */
  readonly packageLocks: string;
  readonly settings: readonly string[];
  readonly osRelease: string;
}

/** The host itself, or a tree on it that has packages of its own, with settings of its own. */
export function zypperPlaces(root = "/"): ZypperPlaces {
  const tree = root === "/" ? [] : ["--root", root];
  const below = (path: string): string => join(root, path);
  return {
    zypper: ["/usr/bin/zypper", ...tree],
    rpm: ["/usr/bin/rpm", ...tree],
    databases: [below("usr/lib/sysimage/rpm"), below("var/lib/rpm")],
    autoInstalled: below("var/lib/zypp/AutoInstalled"),
    lists: below("var/cache/zypp/raw"),
    packages: below("var/cache/zypp/packages"),
    lock: below("run/zypp.pid"),
    packageLocks: below("etc/zypp/locks"),
    settings: ["", "repos.d", "services.d", "vendors.d", "multiversion.d"].map((name) => below(join("etc/zypp", name))),
    osRelease: below("etc/os-release"),
  };
}
