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

export interface ListedThinPools {
  /** The active ones. */
  readonly pools: readonly ThinPool[];
  /** Why some may be missing, in LVM's words: a volume group that it cannot read hides no other. Empty if all are here. */
  readonly complaint: string;
}

export interface ThinPools {
  /** Whether the kernel has any; no rights are needed to ask. */
  readonly arePresent: () => Promise<boolean>;
  /** Undefined where LVM's programs are not installed. @throws without an answer, which takes root. */
  readonly list: (signal: AbortSignal) => Promise<ListedThinPools | undefined>;
}
