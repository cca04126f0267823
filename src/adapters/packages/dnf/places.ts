import { join } from "node:path";

/** Where rpm and dnf keep what is read here, and the words that make them work there. */
export interface DnfPlaces {
  readonly dnf: readonly [program: string, ...args: string[]];
  readonly rpm: readonly [program: string, ...args: string[]];
  /** Folders of rpm's database: it has moved. */
  readonly databases: readonly string[];
  /** The history of transactions. */
  readonly history: string;
  readonly lists: string;
  /** Names the process that changes packages; it is left behind when that one is killed. */
  readonly transactionLock: string;
  readonly listsLocks: readonly string[];
  readonly settings: readonly string[];
  readonly mainSettings: string;
  /** List of the plugin versionlock. */
  readonly versionLocks: string;
}

/** The host itself, or a tree on it that has packages of its own, with settings of its own. */
export function dnfPlaces(root = "/"): DnfPlaces {
  const isTree = root !== "/";
  const below = (path: string): string => join(root, path);
  return {
    dnf: ["/usr/bin/dnf", ...(isTree ? [`--installroot=${root}`] : [])],
    rpm: ["/usr/bin/rpm", ...(isTree ? ["--root", root] : [])],
    databases: [below("var/lib/rpm"), below("usr/lib/sysimage/rpm")],
    history: below("var/lib/dnf"),
    lists: below("var/cache/dnf"),
    transactionLock: below("var/lib/dnf/rpmdb_lock.pid"),
    listsLocks: [below("var/cache/dnf/metadata_lock.pid"), below("var/cache/dnf/download_lock.pid")],
    settings: [below("etc/dnf/dnf.conf"), below("etc/yum.repos.d"), "/etc/dnf/plugins"],
    mainSettings: below("etc/dnf/dnf.conf"),
    // Plugins are those of the host, for a tree as well.
    versionLocks: "/etc/dnf/plugins/versionlock.list",
  };
}
