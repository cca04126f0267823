import { closeSync, constants, lstatSync, opendirSync, openSync } from "node:fs";
import { join } from "node:path";
import type { Look, TakeLook } from "#adapters/exec/look.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { createIgnore } from "#domain/health/check.ts";
import type { BackupDirectories, NewestFile } from "#domain/ports/backups.ts";
import { errnoCode, errorMessage, isNotFound, orUndefinedSync } from "#kernel/errors.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
const deepest = 8;

interface Limits {
  readonly latestAt: number;
  /** Of each directory. */
  readonly mostEntries: number;
}

interface FilesWanted extends Limits {
  /** Each with the patterns of the names that count. */
  readonly directories: readonly (readonly [directory: string, patterns: readonly string[]])[];
}

/** Null without the directory. */
type NewestAnswer =
  | { readonly newest: readonly (readonly [pattern: string, file: NewestFile])[]; readonly isComplete: boolean }
  | { readonly fault: string }
  | null;

interface Walk extends Limits {
  readonly patterns: readonly { readonly pattern: string; readonly matches: (name: string) => boolean }[];
  readonly newest: Map<string, NewestFile>;
  entries: number;
  isComplete: boolean;
}

/** A name that has gone, or become a link, since it was listed. */
const hasChanged = (error: unknown): boolean => isNotFound(error) || errnoCode(error) === "ELOOP";

function take({ latestAt, newest }: Walk, patterns: Walk["patterns"], path: string, shown: string): void {
  const file = orUndefinedSync(() => lstatSync(path));
  if (file === undefined || !file.isFile() || file.size === 0 || file.mtimeMs > latestAt) return;
  const found = { path: shown, bytes: file.size, modifiedAt: Math.floor(file.mtimeMs) };
  for (const { pattern } of patterns)
    if (found.modifiedAt > (newest.get(pattern)?.modifiedAt ?? Number.NEGATIVE_INFINITY)) newest.set(pattern, found);
}

function visit(walk: Walk, path: string, shown: string, flags: number, depth: number): void {
  const fd = openSync(path, O_RDONLY | O_DIRECTORY | flags);
  try {
    // By the descriptor: what is put in the place of the directory meanwhile leads nowhere else.
    const own = `/proc/self/fd/${fd}`;
    const entries = opendirSync(own);
    try {
      for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
        walk.entries += 1;
        if (walk.entries > walk.mostEntries) {
          walk.isComplete = false;
          return;
        }
        const at = join(shown, entry.name);
        if (entry.isDirectory()) {
          if (depth >= deepest) walk.isComplete = false;
          else orUndefinedSync(() => visit(walk, `${own}/${entry.name}`, at, O_NOFOLLOW, depth + 1), hasChanged);
        } else if (entry.isFile()) {
          const matching = walk.patterns.filter(({ matches }) => matches(entry.name));
          if (matching.length > 0) take(walk, matching, `${own}/${entry.name}`, at);
        }
      }
    } finally {
      entries.closeSync();
    }
  } finally {
    closeSync(fd);
  }
}

function newestIn(directory: string, patterns: readonly string[], limits: Limits): NewestAnswer {
  const walk: Walk = {
    ...limits,
    patterns: patterns.map((pattern) => ({ pattern, matches: createIgnore([pattern]) })),
    newest: new Map(),
    entries: 0,
    isComplete: true,
  };
  try {
    visit(walk, directory, "", 0, 0);
  } catch (error) {
    return isNotFound(error) ? null : { fault: errorMessage(error) };
  }
  return { newest: [...walk.newest], isComplete: walk.isComplete };
}

export const newestOfDirectories: Look<FilesWanted, NewestAnswer> = {
  name: "backups",
  look({ directories, ...limits }, { begin, answer }) {
    for (const [directory, patterns] of directories)
      if (begin(directory)) answer(directory, newestIn(directory, patterns, limits));
  },
};

/** A repository of deduplicated chunks has more: its last success is better taken from its unit. */
const defaultMostEntries = 20_000;

/** Any directory may never answer, such as one of a server of NFS. */
export function createBackupDirectories({
  look,
  mostEntries = defaultMostEntries,
}: {
  readonly look: TakeLook;
  readonly mostEntries?: number;
}): BackupDirectories {
  return {
    async newest(wanted, latestAt, signal) {
      const byDirectory = Map.groupBy(wanted, ({ directory }) => directory);
      const directories = [...byDirectory].map(
        ([directory, all]) => [directory, all.map(({ pattern }) => pattern)] as const,
      );
      const { answers, silent } = await look(newestOfDirectories, { directories, latestAt, mostEntries }, signal);
      return ({ directory, pattern }) => {
        const answer = answers.get(directory);
        if (answer === undefined) {
          const why = silent.has(directory) ? "gives no answer" : "was not read, since others give no answer";
          throw new HostUnavailable(`${directory} ${why}`, { missing: directory, retryable: true });
        }
        if (answer === null) return undefined;
        if ("fault" in answer) throw new Error(answer.fault);
        return { newest: new Map(answer.newest).get(pattern), isComplete: answer.isComplete };
      };
    },
  };
}
