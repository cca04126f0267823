import { realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { quoted } from "./command-for.ts";

const everybodyMay = [
  [0o004, "read"],
  [0o002, "change"],
] as const;

/** Whether everybody may traverse every directory above a file. */
function isReachable(path: string): boolean {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === "/") return true;
  }
}

/** What is wrong with the permissions of a file that holds a secret or an address; undefined also for pipes. */
function openFileWarning(path: string): string | undefined {
  try {
    const real = realpathSync(path);
    const stat = statSync(real);
    const can = everybodyMay.filter(([bit]) => (stat.mode & bit) !== 0).map(([, verb]) => verb);
    if (!stat.isFile() || can.length === 0 || !isReachable(real)) return undefined;
    return `warning: every user of this host can ${can.join(" and ")} ${path} (chmod o= ${quoted(path)})`;
  } catch {
    // Whoever reads the file says what is wrong with it.
    return undefined;
  }
}

/** Warns once of each file that everybody may read or change. */
export function createFileWarnings(err: (text: string) => void): (path: string) => void {
  const seen = new Set<string>();
  return (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    const warning = openFileWarning(path);
    if (warning !== undefined) err(`steward: ${warning}\n`);
  };
}
