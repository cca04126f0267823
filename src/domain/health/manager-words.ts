import type { ManagerCommands, PackageManager } from "#domain/ports/packages.ts";

const noCommands: ManagerCommands = {
  finisher: "the package manager",
  finish: "",
  installMissing: "",
  refreshLists: "",
  unhold: "",
};

export const commandsOf = (packages: Pick<PackageManager, "commands"> | undefined): ManagerCommands =>
  packages?.commands ?? noCommands;

export function demandManager<T>(packages: T | undefined): T {
  if (packages === undefined) throw new Error("this host has no package manager that could be used");
  return packages;
}

/** A text with remarks in brackets; empty ones are left out. */
export function remarked(text: string, ...remarks: readonly string[]): string {
  const said = remarks.filter((remark) => remark !== "");
  return said.length === 0 ? text : `${text} (${said.join(", ")})`;
}
