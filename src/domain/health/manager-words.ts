import type { PackageStates } from "#domain/ports/packages.ts";

/** The name of a package manager; undefined where there is none that is supported. */
export type ManagerName = PackageStates["manager"];

/** What the fixes of packages let a package manager do. */
export interface ManagerWords {
  /** The program that finishes what was interrupted. */
  readonly finisher: string;
  /** The commands, as an administrator would type them; empty where there is no such command. */
  readonly finish: string;
  readonly installMissing: string;
  readonly refreshLists: string;
}

const words: Readonly<Record<NonNullable<ManagerName>, ManagerWords>> = {
  apt: {
    finisher: "dpkg",
    finish: "dpkg --configure -a",
    installMissing: "apt-get --fix-broken install",
    refreshLists: "apt-get update",
  },
  dnf: {
    finisher: "dnf",
    finish: "dnf history redo last",
    installMissing: "dnf install",
    refreshLists: "dnf makecache",
  },
  zypper: { finisher: "zypper", finish: "", installMissing: "zypper install", refreshLists: "zypper refresh" },
  // What it installs, it installs together with an update of everything, and it takes nothing up again.
  pacman: { finisher: "pacman", finish: "", installMissing: "", refreshLists: "pacman -Sy" },
};
const noWords: ManagerWords = { finisher: "the package manager", finish: "", installMissing: "", refreshLists: "" };

/** The words of the package manager that this host has. */
export const wordsOf = (manager: ManagerName): ManagerWords => (manager === undefined ? noWords : words[manager]);

/** Remarks in brackets behind a text; those that are empty are left out. */
export function remarked(text: string, ...remarks: readonly string[]): string {
  const said = remarks.filter((remark) => remark !== "");
  return said.length === 0 ? text : `${text} (${said.join(", ")})`;
}
