/** What the kernel shows in `/proc` and `/sys`. Nothing is written. Each throws what the system says where it refuses. */
export interface HostFiles {
  readonly text: (path: string) => Promise<string>;
  /** Names of what is in a directory, sorted. */
  readonly names: (path: string) => Promise<readonly string[]>;
  /** What a link leads to, as it is written there. */
  readonly target: (path: string) => Promise<string>;
}
