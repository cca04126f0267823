/** The newest file of a directory and of what is below it. */
export interface NewestFile {
  /** Below the directory. */
  readonly path: string;
  readonly bytes: number;
  /** Epoch milliseconds. */
  readonly modifiedAt: number;
}

export interface BackupFolders {
  /**
   * Regular files that are not empty; no symbolic link is followed. Undefined without the directory.
   * @param matches whether the name of a file counts.
   * @param latestAt files that say to be newer do not count; epoch milliseconds.
   * @returns `isComplete` false where there are more entries than are read.
   */
  readonly newest: (
    directory: string,
    matches: (name: string) => boolean,
    latestAt: number,
    signal: AbortSignal,
  ) => Promise<{ readonly newest: NewestFile | undefined; readonly isComplete: boolean } | undefined>;
}
