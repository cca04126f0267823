import type { PresentPackage } from "#domain/ports/packages.ts";
import { SnapshotUnusable, type StoredSnapshot } from "#domain/ports/snapshots.ts";
import { isCount, isNumber, isRecord, isString, type JsonObject } from "#kernel/values.ts";
import { parentPart } from "./files.ts";
import { isKeptOut, type TreeEntry } from "./tree.ts";

/** The form of `manifest.json`; another number is another form, and is refused. */
const format = 1;

export interface Manifest extends Pick<StoredSnapshot, "id" | "description" | "kind" | "isProtected" | "createdAt"> {
  readonly packages: readonly PresentPackage[];
  readonly etc: readonly TreeEntry[];
}

const names = /^[A-Za-z0-9][A-Za-z0-9+._-]*$/;
const versions = /^[A-Za-z0-9][A-Za-z0-9+.:~^_-]*$/;
const hashes = /^[0-9a-f]{64}$/;

export function serialiseManifest({ createdAt, isProtected, ...rest }: Manifest): string {
  const { id, description, kind, packages, etc } = rest;
  const created_at = new Date(createdAt).toISOString();
  const head = { format, id, description, kind, protected: isProtected, created_at };
  return `${JSON.stringify({ ...head, packages, etc }, undefined, 1)}\n`;
}

const refuseManifest = (what: string): never => {
  throw new SnapshotUnusable(`the manifest of the snapshot is not one: ${what}`);
};

const isTexts = (found: unknown): found is Readonly<Record<string, string>> =>
  isRecord(found) && Object.values(found).every((each) => isString(each) && /^[A-Za-z0-9+/=]*$/.test(each));

function reader(value: unknown, what: string) {
  const fields: JsonObject = isRecord(value) ? value : refuseManifest(`${what} must be an object`);
  const take = <T>(key: string, isFine: (found: unknown) => found is T, wanted: string): T => {
    const found = Object.hasOwn(fields, key) ? fields[key] : undefined;
    return isFine(found) ? found : refuseManifest(`${key} of ${what} ${wanted}`);
  };
  const isText = (found: unknown): found is string => isString(found) && !found.includes("\0");
  const isIn =
    (highest: number) =>
    (found: unknown): found is number =>
      isCount(found) && found <= highest;
  return {
    has: (key: string): boolean => Object.hasOwn(fields, key),
    text(key: string, form?: RegExp): string {
      const found = take(key, isText, "must be a string");
      return form === undefined || form.test(found) ? found : refuseManifest(`${key} of ${what} has another form`);
    },
    texts: (key: string) => take(key, isTexts, "must be an object of strings"),
    number: (key: string, highest: number) => take(key, isIn(highest), "must be a number in range"),
    time: (key: string) =>
      take(key, (found): found is number => isNumber(found) && Number.isFinite(found), "must be a timestamp"),
    flag: (key: string) => take(key, (found) => typeof found === "boolean", "must be true or false"),
    list: (key: string) => take(key, (found): found is readonly unknown[] => Array.isArray(found), "must be a list"),
    one: <const T extends string>(key: string, of: readonly T[]): T =>
      take(key, (found): found is T => of.some((each) => each === found), "is unknown"),
  };
}

function packageOf(value: unknown): PresentPackage {
  const read = reader(value, "a package");
  return {
    name: read.text("name", names),
    architecture: read.text("architecture", names),
    version: read.text("version", versions),
    state: read.one("state", ["installed", "configuration", "unfinished"]),
    isManual: read.flag("isManual"),
    isHeld: read.flag("isHeld"),
  };
}

const highestId = 2 ** 32 - 2;

function isPathBelow(path: string): boolean {
  if (path === "") return true;
  const parts = path.split("/");
  return (
    path.length <= 4096 && parts.every((part) => part !== "" && part !== "." && part !== ".." && part.length < 256)
  );
}

function readTreeEntry(value: unknown): TreeEntry {
  const read = reader(value, "a file");
  const path = read.text("path");
  if (!isPathBelow(path)) return refuseManifest("the path of a file leads elsewhere");
  if (isKeptOut(path)) return refuseManifest(`${path} is not kept in snapshots`);
  const ids = { path, uid: read.number("uid", highestId), gid: read.number("gid", highestId) };
  const owned = read.has("attributes") ? { ...ids, attributes: read.texts("attributes") } : ids;
  const type = read.one("type", ["file", "folder", "link"]);
  if (type === "link") return { ...owned, type, target: read.text("target", /./s) };
  const mode = read.number("mode", 0o7777);
  if (type === "folder") return { ...owned, type, mode };
  const size = read.number("size", Number.MAX_SAFE_INTEGER);
  const entry = { ...owned, type, mode, mtimeMs: read.time("mtimeMs"), size, sha256: read.text("sha256", hashes) };
  return read.has("package") ? { ...entry, package: read.text("package", names) } : entry;
}

/** Each path once, and each in a directory that comes before it; then nothing can be put anywhere by way of a link. */
function inOrder(entries: readonly TreeEntry[]): readonly TreeEntry[] {
  const directories = new Set<string>();
  const seen = new Set<string>();
  for (const { path, type } of entries) {
    if (seen.has(path)) return refuseManifest(`${path} is listed twice`);
    if (path === "" ? type !== "folder" : !directories.has(parentPart(path))) {
      return refuseManifest(`${path} is in no directory that is listed`);
    }
    seen.add(path);
    if (type === "folder") directories.add(path);
  }
  return directories.has("") ? entries : refuseManifest("the directory itself is not listed");
}

/** How a transaction left what it changed of the files. */
export interface Changes {
  readonly entries: readonly TreeEntry[];
  readonly removed: readonly string[];
}

export function parseChanges(text: string): Changes {
  const read = reader(parseJson(text), "it");
  const removed = read
    .list("removed")
    .map((path) => (isString(path) ? path : refuseManifest("a path is not a string")));
  return { entries: read.list("entries").map(readTreeEntry), removed };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return refuseManifest("it is not JSON");
  }
}

export function parseManifest(text: string, id: string): Manifest {
  const read = reader(parseJson(text), "it");
  if (read.number("format", 1_000) !== format) return refuseManifest("it was written by another version of Steward");
  if (read.text("id") !== id) return refuseManifest("it is of another snapshot");
  const createdAt = Date.parse(read.text("created_at", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/));
  const packages = read.list("packages").map(packageOf);
  if (
    new Set(packages.map(({ name, architecture, version }) => `${name}:${architecture} ${version}`)).size <
    packages.length
  ) {
    return refuseManifest("a package is listed twice");
  }
  return {
    id,
    description: read.text("description"),
    kind: read.one("kind", ["manual", "before_update", "before_rollback"]),
    isProtected: read.flag("protected"),
    createdAt: Number.isNaN(createdAt) ? refuseManifest("its time is not valid") : createdAt,
    packages,
    etc: inOrder(read.list("etc").map(readTreeEntry)),
  };
}
