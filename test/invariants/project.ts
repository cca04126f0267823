import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** Root of the checkout. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Text of a file of the project. */
export const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** All files below a directory, as paths from the root. */
export function filesBelow(directory: string): readonly string[] {
  const entries = readdirSync(join(root, directory), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

/** Names of the directories right below a directory. */
export const directoriesIn = (directory: string): readonly string[] =>
  readdirSync(join(root, directory), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();

/** Interfaces of a file whose members are functions: those are ports, the others are plain data. */
const portsOf = (path: string): readonly string[] =>
  [...read(path).matchAll(/export interface (\w+) \{([\s\S]*?)\n\}/g)]
    .filter(([, , members = ""]) => /: \(/.test(members))
    .map(([, name = ""]) => name);

/** The ports of the domain, by the names of their interfaces. */
export const portNames = (): readonly string[] =>
  [...filesBelow("src/domain/ports"), "src/kernel/clock.ts"].flatMap(portsOf);
