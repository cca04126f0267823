import { type BigIntStats, lstatSync, readlinkSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { isSticky, isWritableByOthers } from "#adapters/files/index.ts";

export const isInside = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`);

/** Nothing quotes paths anywhere, so they have no characters that would need it. */
export const isPlain = (path: string): boolean => /^(\/(?!\.\.?(\/|$))[A-Za-z0-9._@+,~-]+)+$/.test(path);

export class Distrusted extends Error {
  override readonly name = "Distrusted";
}

export interface Owner {
  readonly uid: number;
}

/** Directories on the way are not the plugin's: anyone who closed one, or gave it to a user, had a reason. */
const putElsewhere = "copy the plugin to a plugin directory: /etc/steward/plugins, unless plugins.dirs names others";

interface Standing {
  /** Where others may have entries of their own, as in /tmp. */
  readonly isShared?: boolean;
  /** What helps, instead of another owner or mode. */
  readonly remedy?: string;
}

/** What only root or the service itself may change. @throws Distrusted */
export function requireTrusted(path: string, stat: BigIntStats, { uid }: Owner, standing: Standing = {}): void {
  const { isShared = false, remedy } = standing;
  if (stat.uid !== 0n && stat.uid !== BigInt(uid)) {
    const whom = uid === 0 ? "root" : "root or to the user of the service";
    const help = remedy ?? `chown root ${path}`;
    throw new Distrusted(`${path} belongs to user ${stat.uid}, and has to belong to ${whom} (${help})`);
  }
  // In a directory such as /tmp, nobody can put something else in the place of what is not theirs.
  if (isShared && isSticky(stat)) return;
  if (!stat.isSymbolicLink() && isWritableByOthers(stat)) {
    throw new Distrusted(`${path} may be changed by others than its owner (${remedy ?? `chmod go-w ${path}`})`);
  }
}

function directoriesAbove(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [...directoriesAbove(parent), parent];
}

/** All that leads to a directory: anyone who may change that may put another one in its place. @throws Distrusted */
export function requireTrustedWay(path: string, owner: Owner): void {
  for (const parent of directoriesAbove(path)) {
    const stat = lstatSync(parent, { bigint: true });
    // What a link leads over would have to be inspected as well, link by link.
    if (stat.isSymbolicLink()) {
      throw new Distrusted(`${parent} is a link (name the directory that it leads to in plugins.dirs)`);
    }
    requireTrusted(parent, stat, owner, { isShared: true, remedy: putElsewhere });
  }
}

const maxLinks = 40;
const namesOf = (path: string): readonly string[] => path.split("/").filter((name) => name !== "" && name !== ".");

/** A file and all that leads to it, over links too: anyone who may change one of them has another file there. @throws Distrusted */
export function requireTrustedFile(path: string, owner: Owner): void {
  let reached = "/";
  let left = namesOf(path);
  for (let links = 0; left.length > 0; ) {
    const [name = "", ...rest] = left;
    left = rest;
    if (name === "..") {
      reached = dirname(reached);
      continue;
    }
    const next = join(reached, name);
    const stat = lstatSync(next, { bigint: true });
    requireTrusted(next, stat, owner, { isShared: stat.isDirectory() });
    if (!stat.isSymbolicLink()) {
      reached = next;
      continue;
    }
    links += 1;
    if (links > maxLinks) throw new Distrusted(`${path} leads over more than ${maxLinks} links`);
    const target = readlinkSync(next);
    if (isAbsolute(target)) reached = "/";
    left = [...namesOf(target), ...rest];
  }
}

export function requireReachable(directory: string): void {
  for (const path of [...directoriesAbove(directory), directory]) {
    const { mode } = lstatSync(path, { bigint: true });
    if ((mode & 0o001n) === 0n) {
      const remedy = path === directory ? `chmod o+x ${path}` : putElsewhere;
      throw new Distrusted(`${path} is closed to the user that the plugin runs as (${remedy})`);
    }
  }
}

/** A link on the way, or a directory in which others than root could put one. */
export function whatLeadsElsewhere(path: string): string | undefined {
  for (const part of [...directoriesAbove(path), path]) {
    const stat = lstatSync(part, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (stat.isSymbolicLink()) return `${part} is a link (let it ask for what that leads to)`;
    if (part !== path && (stat.uid !== 0n || isWritableByOthers(stat))) {
      return `others than root may put something else there (let it ask for ${part})`;
    }
  }
  return undefined;
}
