import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Look } from "#adapters/exec/look.ts";
import { errorMessage } from "#kernel/errors.ts";
import { isSafe, maxFiles, sizeOfOld } from "./old-files.ts";
import { contentsOf, type PackageCache, type Packages } from "./package-cache.ts";
import { isKnownName, type Rule } from "./rules.ts";

/** With the sources of its expressions. */
type Written<T> = {
  readonly [K in keyof T]: T[K] extends RegExp ? string : T[K] extends readonly RegExp[] ? readonly string[] : T[K];
};

interface CleanupWanted {
  readonly rules: readonly Written<Rule>[];
  readonly caches: readonly Written<Pick<PackageCache, "directory" | "removes" | "keeps">>[];
  readonly owner: number;
  readonly nowMs: number;
}

/** Bytes of a file that may go, null of another one; what a cache has; why a directory cannot be read. */
export type CleanupAnswer = number | null | Packages | { readonly fault: string };

export const writtenRule = ({ names, ...rule }: Rule): Written<Rule> => ({
  ...rule,
  names: names.map(({ source }) => source),
});
export const writtenCache = ({ directory, removes, keeps }: PackageCache): CleanupWanted["caches"][number] => ({
  directory,
  removes: removes.source,
  keeps: keeps.source,
});

/** What may be removed from directories in which others have files and mounts of their own. */
export const removableFiles: Look<CleanupWanted, CleanupAnswer> = {
  name: "cleanup",
  look({ rules, caches, owner, nowMs }, { begin, answer }) {
    const read = (directory: string, work: () => void): void => {
      if (!begin(directory)) return;
      try {
        work();
      } catch (error) {
        answer(directory, { fault: errorMessage(error) });
      }
    };
    for (const { directory, removes, keeps } of caches)
      read(directory, () =>
        answer(directory, contentsOf({ directory, removes: new RegExp(removes), keeps: new RegExp(keeps) })),
      );
    for (const written of rules) {
      const { directory } = written;
      const rule: Rule = { ...written, names: written.names.map((source) => new RegExp(source)) };
      // It has no answer of its own, so that it is read again after a file in it that gives none.
      read(directory, () => {
        if (!isSafe(directory, owner)) return;
        let found = 0;
        for (const name of readdirSync(directory)) {
          const path = join(directory, name);
          if (found === maxFiles) return;
          if (!isKnownName(name, rule) || !begin(path)) continue;
          const bytes = sizeOfOld(path, rule, nowMs);
          if (bytes !== undefined) found += 1;
          answer(path, bytes ?? null);
        }
      });
    }
  },
};
