import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import { isSticky, isWritableByOthers } from "#adapters/files/index.ts";

/** Root's settings, and what leads to them, have to be root's own. @throws Error with a remedy. */
export function requireRootSettings(file: string): void {
  for (let path = file; ; path = dirname(path)) {
    const stat = lstatSync(path);
    const isShared = path !== file && isSticky(stat);
    const why = stat.isSymbolicLink()
      ? "it is a link (put the file itself there)"
      : stat.uid !== 0
        ? `it belongs to user ${stat.uid} (chown root ${path})`
        : isWritableByOthers(stat) && !isShared
          ? `others may change it (chmod go-w ${path})`
          : undefined;
    if (why !== undefined) throw new Error(`cannot use the settings ${file} as root: ${path}: ${why}`);
    if (path === dirname(path)) return;
  }
}
