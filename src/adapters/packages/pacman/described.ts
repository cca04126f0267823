import type { FoundPackage } from "#domain/ports/package-catalog.ts";
import { createOutputLines } from "../common/output-lines.ts";
import { parseFields } from "./records.ts";
import { parseSize } from "./simulation.ts";

/** What pacman has of a package. */
export interface DescribedPackage extends FoundPackage {
  /** Where it can be had; empty for one that is installed. */
  readonly repository: string;
  readonly packager: string;
  readonly homepage: string;
  /** In pacman's notation: `library>=2`. */
  readonly depends: readonly string[];
  /** What it can make use of: `extra: for more`. */
  readonly optional: readonly string[];
  readonly provides: readonly string[];
}

/** Groups are what pacman has instead of sections. */
const sectionOf = (groups: readonly string[]): string => groups.join(", ");

/** Reads the file `desc` of an installed package. */
export function parseInstalled(text: string): DescribedPackage | undefined {
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
    summary: first("DESC"),
    homepage: first("URL"),
    packager: first("PACKAGER"),
    installedBytes: /^\d{1,15}$/.test(size) ? Number(size) : undefined,
    downloadBytes: undefined,
    depends: all("DEPENDS"),
    optional: all("OPTDEPENDS"),
    provides: all("PROVIDES"),
  };
}

/** Reads the file `files` of an installed package: paths without what is before them. */
export const parseFiles = (text: string): readonly string[] =>
  (parseFields(text).get("FILES") ?? []).map((path) => `/${path.replace(/\/$/, "")}`);

const bytesOf = (text: string): number | undefined => (text === "" ? undefined : parseSize(text));

function fromFields(fields: ReadonlyMap<string, readonly string[]>): DescribedPackage | undefined {
  const lines = (name: string): readonly string[] => (fields.get(name) ?? []).filter((each) => each !== "None");
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
    summary: first("Description"),
    homepage: first("URL"),
    packager: first("Packager"),
    installedBytes: bytesOf(first("Installed Size")),
    downloadBytes: bytesOf(first("Download Size")),
    depends: words("Depends On"),
    optional: lines("Optional Deps"),
    provides: words("Provides"),
  };
}

/** More lines than this are of no package. */
const mostLines = 10_000;

/** Reads `pacman -Si` in pieces. Packages are parted by empty lines, and values of several lines are further in. */
export function createInfoReader(take: (found: DescribedPackage) => void) {
  let fields = new Map<string, string[]>();
  let values: string[] | undefined;
  let count = 0;
  const finish = (): void => {
    const found = fromFields(fields);
    fields = new Map();
    values = undefined;
    count = 0;
    if (found !== undefined) take(found);
  };
  const reader = createOutputLines((line) => {
    if (line === "") return finish();
    count += 1;
    if (count > mostLines) return;
    const [, name, value = ""] = /^(\S[^:]*?) *: ?(.*)$/.exec(line) ?? [];
    if (name === undefined) values?.push(line.trim());
    else {
      values = [value.trim()];
      fields.set(name, values);
    }
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
