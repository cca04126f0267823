import { basename } from "node:path";
import { createIgnore } from "#domain/health/check.ts";
import type { BackupDirectories, NewestFile } from "#domain/ports/backups.ts";

/** @param directories the files of each directory. */
export const createFakeBackupDirectories = (
  directories: Readonly<Record<string, readonly NewestFile[]>> = {},
  isComplete = true,
): BackupDirectories => ({
  newest(_, latestAt) {
    return Promise.resolve(({ directory, pattern }) => {
      const files = directories[directory];
      if (files === undefined) return undefined;
      const matches = createIgnore([pattern]);
      const counted = files.filter(
        ({ path, bytes, modifiedAt }) => bytes > 0 && modifiedAt <= latestAt && matches(basename(path)),
      );
      const [newest] = counted.toSorted((a, b) => b.modifiedAt - a.modifiedAt);
      return { newest, isComplete };
    });
  },
});
