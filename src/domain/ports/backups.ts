/** The newest file of a directory and of what is below it. */
export interface NewestFile {
  /** Below the directory. */
  readonly path: string;
  readonly bytes: number;
  /** Epoch milliseconds. */
  readonly modifiedAt: number;
}

export interface BackupDirectory {
  readonly directory: string;
  /** Of the names of files that count, with `*` and `?`. */
  readonly pattern: string;
}

export interface FoundBackups {
  readonly newest: NewestFile | undefined;
  /** False where there are more entries than are read. */
  readonly isComplete: boolean;
}

export interface BackupDirectories {
  /**
   * Regular files that are not empty; no symbolic link is followed.
   * @param latestAt files that say to be newer do not count; epoch milliseconds.
   * @returns what each of those wanted has: undefined without the directory. It throws where that one cannot be read.
   */
  readonly newest: (
    wanted: readonly BackupDirectory[],
    latestAt: number,
    signal: AbortSignal,
  ) => Promise<(directory: BackupDirectory) => FoundBackups | undefined>;
}
