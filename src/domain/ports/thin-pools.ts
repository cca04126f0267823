/** A thin pool of LVM, whose volumes together may be larger than it is. */
export interface ThinPool {
  /** `group/pool`. */
  readonly name: string;
  readonly sizeBytes: number;
  /** Null where the kernel does not say. */
  readonly dataPercent: number | null;
  readonly metadataPercent: number | null;
  /** LVM's word: empty while it is healthy, else `failed`, `out_of_data`, `metadata_read_only`. */
  readonly health: string;
}

export interface ThinPools {
  /** Whether the kernel has any; no rights are needed to ask. */
  readonly arePresent: () => Promise<boolean>;
  /** The active ones; undefined where LVM's programs are not installed. @throws without their answer, which takes root. */
  readonly list: (signal: AbortSignal) => Promise<readonly ThinPool[] | undefined>;
}
