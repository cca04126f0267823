import { join } from "node:path";

/** Where pacman keeps what is read here, and the words that make it work there. */
export interface PacmanPlaces {
  /** Without the folder of its databases, which is another one for questions. */
  readonly pacman: readonly [program: string, ...args: string[]];
  /** The program that reads its settings, with all that they include. */
  readonly settingsReader: readonly [program: string, ...args: string[]];
  /** Its databases: `local`, what is installed, and `sync`, the package lists. */
  readonly databases: string;
  /** There for as long as somebody changes packages; left behind when that one is killed. */
  readonly lock: string;
  /** Lists of the service's own: those of the host change only together with its packages. */
  readonly lists: string;
  readonly settings: readonly string[];
}

/** The host itself, or a tree on it that has packages of its own, with settings of its own. */
export function pacmanPlaces(root = "/"): PacmanPlaces {
  const isTree = root !== "/";
  const below = (path: string): string => join(root, path);
  const settings = ["--config", below("etc/pacman.conf")];
  const tree = [
    ...["--root", root, ...settings],
    ...["--cachedir", below("var/cache/pacman/pkg"), "--logfile", below("var/log/pacman.log")],
  ];
  return {
    pacman: ["/usr/bin/pacman", ...(isTree ? tree : [])],
    settingsReader: ["/usr/bin/pacman-conf", ...(isTree ? settings : [])],
    databases: below("var/lib/pacman"),
    lock: below("var/lib/pacman/db.lck"),
    lists: below("var/cache/steward-pacman"),
    settings: [below("etc/pacman.conf"), below("etc/pacman.d")],
  };
}
