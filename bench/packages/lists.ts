import { createHash } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { createRandom, type Random } from "../../test/support/random.ts";

/** A directory with a repository of two suites, `bookworm` and `bookworm-security`, and what a host has installed from it. */
export interface PackageLists {
  /** What `deb copy:…` names. */
  readonly repository: string;
  /** Entries for the status file of dpkg. */
  readonly status: string;
}

/** How many there are of each; `updates` counts those with a security update as well. */
export const counts = { packages: 60_000, installed: 1_000, updates: 200, securityUpdates: 40 } as const;

/** Changes whenever what is written changes, so that no lists of another making are taken. */
const recipe = 1;
const date = "Thu, 01 Jan 2026 00:00:00 UTC";
const debianNames: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const words = [
  "python3",
  "ruby",
  "perl",
  "golang",
  "node",
  "data",
  "common",
  "utils",
  "server",
  "client",
  "tools",
  "doc",
];
const prose = [
  "this",
  "package",
  "contains",
  "the",
  "files",
  "that",
  "are",
  "needed",
  "by",
  "programs",
  "to",
  "run",
  "and",
];

/** Of so many packages in a row one has a security update and four have another. */
const updateCycle = counts.installed / counts.securityUpdates;
const updatesInCycle = counts.updates / counts.securityUpdates;
/** What others depend on: a host has few packages on which most of the rest is built. */
const baseSize = 5_000;
/** Records that are written at once. */
const atOnce = 5_000;

const hasSecurityUpdate = (index: number): boolean => index % updateCycle === 0;
const hasOtherUpdate = (index: number): boolean => !hasSecurityUpdate(index) && index % updateCycle < updatesInCycle;

const nameOf = (index: number): string => {
  const [first = "", second = ""] = [words[index % words.length], words[(index * 7 + 3) % words.length]];
  return `${first}-${second}-${index.toString(36)}`;
};
const upstreamOf = (index: number): string => `${1 + (index % 9)}.${index % 21}.${index % 37}`;
const installedVersion = (index: number): string => `${upstreamOf(index)}-1`;
const mainVersion = (index: number): string => `${upstreamOf(index)}-${hasOtherUpdate(index) ? 2 : 1}`;
const securityVersion = (index: number): string => `${upstreamOf(index)}-1+deb12u1`;

const hexOf = (random: Random, bytes: number): string => random.bytes(bytes).toString("hex");
const sentence = (random: Random, length: number): string => Array.from({ length }, () => random.pick(prose)).join(" ");

/** Only on packages before it, so that what is installed has all that it needs. */
function dependenciesOf(random: Random, index: number): readonly string[] {
  if (index === 0) return [];
  const names = Array.from({ length: 2 + random.integer(9) }, () => {
    const other = random.integer(Math.min(index, baseSize));
    return random.chance(0.6) ? `${nameOf(other)} (>= ${upstreamOf(other)})` : nameOf(other);
  });
  return [`Depends: ${names.join(", ")}`];
}

const descriptionMd5 = (index: number): string => createHash("md5").update(nameOf(index)).digest("hex");

/** What a record in a list and one in the status file have in common. Each has numbers of its own, so that both say the same. */
function fieldsOf(index: number, version: string, architecture: string): readonly string[] {
  const random = createRandom(index);
  return [
    `Version: ${version}`,
    `Installed-Size: ${20 + random.integer(20_000)}`,
    "Maintainer: Nobody <nobody@example.org>",
    `Architecture: ${random.chance(0.5) ? "all" : architecture}`,
    ...dependenciesOf(random, index),
    ...(random.chance(0.4) ? [`Provides: ${nameOf(index)}-abi (= ${upstreamOf(index)})`] : []),
    "Multi-Arch: foreign",
    `Homepage: https://www.example.org/${nameOf(index)}`,
    "Section: misc",
    "Priority: optional",
  ];
}

function listRecord(index: number, version: string, architecture: string): string {
  const random = createRandom(index);
  const name = nameOf(index);
  return [
    `Package: ${name}`,
    ...fieldsOf(index, version, architecture),
    `Description: ${sentence(random, 8)}`,
    `Description-md5: ${descriptionMd5(index)}`,
    "Tag: implemented-in::c, interface::commandline, role::program, use::storing",
    `Filename: pool/main/${name.slice(0, 1)}/${name}/${name}_${version}.deb`,
    `Size: ${1_000 + random.integer(1_000_000)}`,
    `MD5sum: ${hexOf(random, 16)}`,
    `SHA256: ${hexOf(random, 32)}`,
    "\n",
  ].join("\n");
}

function translationRecord(index: number): string {
  const random = createRandom(index);
  return [
    `Package: ${nameOf(index)}`,
    `Description-md5: ${descriptionMd5(index)}`,
    `Description-en: ${sentence(random, 8)}`,
    ...Array.from({ length: 5 }, () => ` ${sentence(random, 13)}`),
    "\n",
  ].join("\n");
}

const statusRecord = (index: number, architecture: string): string =>
  [
    `Package: ${nameOf(index)}`,
    "Status: install ok installed",
    ...fieldsOf(index, installedVersion(index), architecture),
    `Description: ${sentence(createRandom(index), 8)}`,
    "\n",
  ].join("\n");

/** Writes the records of these packages and gives the line that a Release file has of the list. */
function writeList(
  suite: string,
  path: string,
  indexes: readonly number[],
  recordOf: (index: number) => string,
): string {
  const file = join(suite, path);
  mkdirSync(dirname(file), { recursive: true });
  const hash = createHash("sha256");
  const output = openSync(file, "w");
  let size = 0;
  try {
    for (let from = 0; from < indexes.length; from += atOnce) {
      const text = indexes
        .slice(from, from + atOnce)
        .map(recordOf)
        .join("");
      hash.update(text);
      size += writeSync(output, text);
    }
  } finally {
    closeSync(output);
  }
  return ` ${hash.digest("hex")} ${size} ${path}`;
}

function writeRelease(
  directory: string,
  { label, suite, codename }: { label: string; suite: string; codename: string },
  lists: readonly string[],
): void {
  const fields = [
    "Origin: Debian",
    `Label: ${label}`,
    `Suite: ${suite}`,
    `Codename: ${codename}`,
    "Version: 12.0",
    `Date: ${date}`,
    `Architectures: all ${debianArchitecture()}`,
    "Components: main",
    "SHA256:",
    ...lists,
    "",
  ];
  writeFileSync(join(directory, "Release"), fields.join("\n"));
}

function debianArchitecture(): string {
  const name = debianNames[process.arch];
  if (name === undefined) throw new Error(`cannot make package lists: ${process.arch} is unknown`);
  return name;
}

function write(directory: string): void {
  const architecture = debianArchitecture();
  const all = Array.from({ length: counts.packages }, (_, index) => index);
  const packagesPath = `main/binary-${architecture}/Packages`;
  const main = join(directory, "repository/dists/bookworm");
  writeRelease(main, { label: "Debian", suite: "stable", codename: "bookworm" }, [
    writeList(main, packagesPath, all, (index) => listRecord(index, mainVersion(index), architecture)),
    writeList(main, "main/i18n/Translation-en", all, translationRecord),
  ]);
  const security = join(directory, "repository/dists/bookworm-security");
  const fixed = all.filter(hasSecurityUpdate);
  writeRelease(security, { label: "Debian-Security", suite: "stable-security", codename: "bookworm-security" }, [
    writeList(security, packagesPath, fixed, (index) => listRecord(index, securityVersion(index), architecture)),
  ]);
  const installed = all.slice(0, counts.installed).map((index) => statusRecord(index, architecture));
  writeFileSync(join(directory, "status"), installed.join(""));
}

const defaultCache = (): string =>
  join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "steward", "packages");

/** Makes the lists, or takes those that an earlier call has made. */
export function packageLists(cache = defaultCache()): PackageLists {
  const dir = join(cache, `${counts.packages}-${counts.installed}-${process.arch}-recipe-${recipe}`);
  const made: PackageLists = { repository: join(dir, "repository"), status: join(dir, "status") };
  if (existsSync(dir)) return made;
  const unfinished = `${dir}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    write(unfinished);
    // Somebody else may have made it meanwhile; it is the same.
    if (!existsSync(dir)) renameSync(unfinished, dir);
    return made;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
