import type { DpkgEntry } from "./status-file.ts";

/** The names of Debian's policy; anything else is no name, and is not passed on. */
export const isPackageName = (name: string): boolean => /^[a-z0-9][a-z0-9+.-]*(:[a-z0-9-]+)?$/.test(name);

/** The same for versions. */
export const isVersion = (version: string): boolean => /^[A-Za-z0-9][A-Za-z0-9.+:~-]*$/.test(version);

/** The machine's own architecture. */
export const nativeArchitecture = (entries: readonly DpkgEntry[]): string =>
  entries.find(({ name }) => name === "dpkg")?.architecture ?? "";

/** As apt takes it; an architecture is needed only where there may be several, or it is not the machine's own. */
export const wordFor = (
  { name, architecture, isMultiArchSame }: Pick<DpkgEntry, "name" | "architecture" | "isMultiArchSame">,
  native: string,
): string =>
  isMultiArchSame || (architecture !== "all" && architecture !== native) ? `${name}:${architecture}` : name;
