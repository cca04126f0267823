import type { PackageManager, PackageManagerName } from "#domain/ports/packages.ts";

export interface ManagerWords {
  readonly finisher: string;
  /** As an administrator would type them; empty where there is no such command. */
  readonly finish: string;
  readonly installMissing: string;
  readonly refreshLists: string;
}

const words: Readonly<Record<PackageManagerName, ManagerWords>> = {
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
  // pacman installs only together with an update of everything, and resumes nothing.
  pacman: { finisher: "pacman", finish: "", installMissing: "", refreshLists: "pacman -Sy" },
};
const noWords: ManagerWords = { finisher: "the package manager", finish: "", installMissing: "", refreshLists: "" };

export const wordsOf = (packages: Pick<PackageManager, "name"> | undefined): ManagerWords =>
  packages === undefined ? noWords : words[packages.name];

export function demandManager<T>(packages: T | undefined): T {
  if (packages === undefined) throw new Error("this host has no package manager that could be used");
  return packages;
}

/** A text with remarks in brackets; empty ones are left out. */
export function remarked(text: string, ...remarks: readonly string[]): string {
  const said = remarks.filter((remark) => remark !== "");
  return said.length === 0 ? text : `${text} (${said.join(", ")})`;
}
