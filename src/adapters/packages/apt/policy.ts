/** Where versions of packages come from, by `apt-cache policy`. What the source does not say is empty. */
export interface PackageFile {
  /** The words by which versions refer to it: `https://deb.debian.org/debian bookworm/main amd64 Packages`. */
  readonly location: string;
  readonly origin: string;
  readonly label: string;
  /** `stable-security`: what others call the suite. */
  readonly archive: string;
  readonly codename: string;
  readonly component: string;
}

export interface PackagePolicy {
  /** With its architecture where that is not the machine's own: `libc6:i386`. */
  readonly name: string;
  readonly installed: string | null;
  readonly candidate: string | null;
  readonly versions: readonly { readonly version: string; readonly locations: readonly string[] }[];
}

function releaseOf(location: string, line: string): PackageFile {
  const fields = new Map(
    line.split(/,(?=[a-z]=)/).map((field) => [field.slice(0, field.indexOf("=")), field.slice(field.indexOf("=") + 1)]),
  );
  const [origin = "", label = "", archive = "", codename = "", component = ""] = ["o", "l", "a", "n", "c"].map(
    (name) => fields.get(name) ?? "",
  );
  return { location, origin, label, archive, codename, component };
}

export function parsePackageFiles(text: string): readonly PackageFile[] {
  const files: PackageFile[] = [];
  let location: string | undefined;
  for (const line of text.split("\n")) {
    const [, found] = /^ {0,4}-?\d+ (\S.*)$/.exec(line) ?? [];
    location = found?.trim() ?? location;
    const [, release] = /^ {5,}release (.*)$/.exec(line) ?? [];
    if (release !== undefined && location !== undefined) files.push(releaseOf(location, release));
  }
  return files;
}

const orNull = (version: string): string | null => (version === "(none)" ? null : version);

interface Section {
  name: string;
  installed: string | null;
  candidate: string | null;
  versions: { version: string; locations: string[] }[];
}

function readLine(section: Section, line: string): void {
  const [, field, value = ""] = /^ {2}(Installed|Candidate): (\S+)/.exec(line) ?? [];
  if (field === "Installed") section.installed = orNull(value);
  if (field === "Candidate") section.candidate = orNull(value);
  const [, version] = /^ (?:\*\*\*| {3}) (\S+)(?: .*)?$/.exec(line) ?? [];
  if (version !== undefined) section.versions.push({ version, locations: [] });
  const [, location] = /^ {6,}-?\d+ (\S.*)$/.exec(line) ?? [];
  if (location !== undefined) section.versions.at(-1)?.locations.push(location.trim());
}

/** The sections whose candidate is not what is installed: few of them, and only those are worth parsing. */
export const changing = (text: string): string =>
  text
    .split(/\n(?! )/)
    .filter((section) => /^ {2}Installed: (\S+)$/m.exec(section)?.[1] !== /^ {2}Candidate: (\S+)$/m.exec(section)?.[1])
    .join("\n");

export function parsePolicies(text: string): readonly PackagePolicy[] {
  const sections: Section[] = [];
  for (const line of text.split("\n")) {
    const [, name] = /^(\S+):$/.exec(line) ?? [];
    if (name !== undefined) sections.push({ name, installed: null, candidate: null, versions: [] });
    const section = sections.at(-1);
    if (section !== undefined && name === undefined) readLine(section, line);
  }
  return sections;
}

/** Debian's and Ubuntu's own, what Ubuntu keeps up for longer, and derivatives that name their suite the same way. */
export const isSecurity = ({
  archive,
  codename,
  label,
  origin,
}: Pick<PackageFile, "archive" | "codename" | "label" | "origin">): boolean =>
  archive.endsWith("-security") ||
  codename.endsWith("-security") ||
  label === "Debian-Security" ||
  /^UbuntuESM(Apps)?$/.test(origin);

type Version = PackagePolicy["versions"][number];

export function newerVersions({ installed, candidate, versions }: PackagePolicy): readonly Version[] {
  const at = (wanted: string | null): number => versions.findIndex(({ version }) => version === wanted);
  if (installed === null || candidate === null || at(candidate) < 0) return [];
  return versions.slice(at(candidate), Math.max(at(installed), 0));
}

const securityFilesOf = ({ locations }: Version, files: readonly PackageFile[]): readonly PackageFile[] =>
  files.filter((file) => locations.includes(file.location) && isSecurity(file));

/** Suites of the security archives that have the candidate, or a version between it and what is installed. */
export function securitySuites(policy: PackagePolicy, files: readonly PackageFile[]): readonly string[] {
  const versions = newerVersions(policy);
  const found = files.filter((file) => versions.some((version) => securityFilesOf(version, files).includes(file)));
  return [...new Set(found.map(({ archive, codename, label }) => archive || codename || label))];
}

export const securityVersion = (policy: PackagePolicy, files: readonly PackageFile[]): string | null =>
  newerVersions(policy).find((version) => securityFilesOf(version, files).length > 0)?.version ?? null;
