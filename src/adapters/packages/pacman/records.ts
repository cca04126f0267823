import type { Described } from "../common/catalog.ts";
import { createOutputLines, parseShownFields } from "../common/output.ts";

/** What pacman says of a package, installed or in a list. */
export interface DescribedPackage extends Described {
  readonly groups: readonly string[];
  /** What it can make use of: `extra: for more`. */
  readonly optional: readonly string[];
  readonly replaces: readonly string[];
  readonly conflicts: readonly string[];
}

export interface InstalledRecord extends DescribedPackage {
  readonly isManual: boolean;
}

/** What pacman takes for a name; nothing else is passed on. */
export const isPackageName = (name: string): boolean => /^[A-Za-z0-9@_+][A-Za-z0-9@._+-]*$/.test(name);

export function parseEntry(text: string): { readonly name: string; readonly version: string } | undefined {
  const [, name, version] = /^(.+)-([^\s-]+-[^\s-]+)$/.exec(text) ?? [];
  return name === undefined || version === undefined ? undefined : { name, version };
}

/** The fields of a file of pacman's: `%NAME%`, and its values on the lines below up to an empty one. */
export function parseFields(text: string): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  let values: string[] | undefined;
  for (const line of text.split("\n")) {
    const [, field] = values === undefined ? (/^%([A-Z0-9]+)%$/.exec(line) ?? []) : [];
    if (field !== undefined) {
      values = [];
      fields.set(field, values);
    } else if (line === "") values = undefined;
    else values?.push(line);
  }
  return fields;
}

/** Groups are what pacman has instead of sections. */
const sectionOf = (groups: readonly string[]): string => groups.join(", ");

/** Reads the file `desc` of an installed package. */
export function parseInstalled(text: string): InstalledRecord | undefined {
  const fields = parseFields(text);
  const all = (field: string): readonly string[] => fields.get(field) ?? [];
  const first = (field: string): string => all(field)[0] ?? "";
  if (first("NAME") === "" || first("VERSION") === "") return undefined;
  const size = first("SIZE");
  return {
    name: first("NAME"),
    version: first("VERSION"),
    architecture: first("ARCH") || "any",
    repository: "",
    section: sectionOf(all("GROUPS")),
    groups: all("GROUPS"),
    summary: first("DESC"),
    description: first("DESC"),
    homepage: first("URL"),
    packager: first("PACKAGER"),
    installedBytes: /^\d{1,15}$/.test(size) ? Number(size) : undefined,
    downloadBytes: undefined,
    depends: all("DEPENDS"),
    optional: all("OPTDEPENDS"),
    provides: all("PROVIDES"),
    replaces: all("REPLACES"),
    conflicts: all("CONFLICTS"),
    isManual: (first("REASON") || "0") === "0",
  };
}

/** Reads the file `files` of an installed package: paths without what is before them. */
export const parseFiles = (text: string): readonly string[] =>
  (parseFields(text).get("FILES") ?? []).map((path) => `/${path.replace(/\/$/, "")}`);

const units: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };

/** Bytes of `1.50 KiB`, as exact as that is. */
function bytesOf(text: string): number | undefined {
  if (text === "") return undefined;
  const [, amount = "0", unit = "B"] = /^([0-9.]+) (\S+)$/.exec(text) ?? [];
  return Math.round(Number(amount) * (units[unit] ?? 1));
}

function fromFields(fields: ReadonlyMap<string, readonly string[]>): DescribedPackage | undefined {
  const lines = (name: string): readonly string[] =>
    (fields.get(name) ?? []).map((line) => line.trim()).filter((each) => each !== "None");
  const first = (name: string): string => lines(name)[0] ?? "";
  // On a terminal they are wrapped.
  const words = (name: string): readonly string[] =>
    lines(name).flatMap((line) => line.split(/ {2,}/).filter((each) => each !== ""));
  if (first("Name") === "" || first("Version") === "") return undefined;
  return {
    name: first("Name"),
    version: first("Version"),
    architecture: first("Architecture") || "any",
    repository: first("Repository"),
    section: sectionOf(words("Groups")),
    groups: words("Groups"),
    summary: first("Description"),
    description: first("Description"),
    homepage: first("URL"),
    packager: first("Packager"),
    installedBytes: bytesOf(first("Installed Size")),
    downloadBytes: bytesOf(first("Download Size")),
    depends: words("Depends On"),
    optional: lines("Optional Deps"),
    provides: words("Provides"),
    replaces: words("Replaces"),
    conflicts: words("Conflicts With"),
  };
}

/** More lines than this are of no package. */
const mostLines = 10_000;

/** Reads `pacman -Si` in pieces, in which packages are parted by empty lines. */
export function createInfoReader(take: (found: DescribedPackage) => void) {
  let lines: string[] = [];
  const finish = (): void => {
    const found = fromFields(parseShownFields(lines));
    lines = [];
    if (found !== undefined) take(found);
  };
  const reader = createOutputLines((line) => {
    if (line === "") finish();
    else if (lines.length < mostLines) lines.push(line);
  });
  return {
    take: reader.take,
    /** @throws Error what was wrong. */
    end(): void {
      reader.end();
      finish();
    },
  };
}

/** Reads `pacman -Si` and `pacman -Qi` at once. */
export function parseDescribed(text: string): readonly DescribedPackage[] {
  const found: DescribedPackage[] = [];
  const reader = createInfoReader((each) => found.push(each));
  reader.take(Buffer.from(text));
  reader.end();
  return found;
}

/** Reads `pacman -Qu`. */
export const parseOffered = (text: string) =>
  text.split("\n").flatMap((line) => {
    const [, name, from, to, ignored] = /^(\S+) (\S+) -> (\S+)( \[ignored\])?$/.exec(line) ?? [];
    if (name === undefined || from === undefined || to === undefined) return [];
    return [{ name, from, to, isHeld: ignored !== undefined }];
  });

/** What `pacman -Dk` names: what packages need and is not there, and what does not go together. */
export function parseUnmet(text: string): readonly { readonly name: string; readonly needs: string }[] {
  return text.split("\n").flatMap((line) => {
    const [, needs, by] = /^error: missing '(.+)' dependency for '(.+)'$/.exec(line) ?? [];
    if (needs !== undefined && by !== undefined) return [{ name: by, needs }];
    const [, one, other] = /^error: '(\S+)' conflicts with '(\S+)'$/.exec(line) ?? [];
    return one === undefined || other === undefined ? [] : [{ name: one, needs: `that ${other} is not there` }];
  });
}
