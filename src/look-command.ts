import { keysOfFiles } from "#adapters/accounts/keys.ts";
import { newestOfDirectories } from "#adapters/backup-directories/index.ts";
import { removableFiles } from "#adapters/cleanup/removable.ts";
import { sizesOfDirectory } from "#adapters/directory-sizes/walk.ts";
import { type Look, serveLook } from "#adapters/exec/look.ts";
import { pluginsOfDirectories } from "#adapters/plugins/inspect.ts";
import { runbooksOfDirectory } from "#adapters/runbooks/directory.ts";

/** Looks that this program takes in a process of its own, by their names. */
const looks: Readonly<Record<string, () => void>> = Object.fromEntries(
  [keysOfFiles, pluginsOfDirectories, newestOfDirectories, sizesOfDirectory, removableFiles, runbooksOfDirectory].map(
    (look) => [look.name, () => serveLook(look as Look<unknown, unknown>)],
  ),
);

/** `steward look NAME`, which this program runs itself. @returns the exit code. */
export function runLookCommand(name = ""): number {
  const serve = looks[name];
  if (serve === undefined) return 2;
  serve();
  return 0;
}
