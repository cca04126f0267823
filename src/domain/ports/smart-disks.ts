/** What a disk says of itself. Figures that its kind does not have are null. */
export interface SmartDisk {
  /** Its device, `/dev/sda`. */
  readonly name: string;
  readonly model: string;
  readonly kind: "disk" | "ssd" | "nvme";
  /** False where it predicts its own failure. */
  readonly isHealthy: boolean | null;
  /** Bits of NVMe's critical warning; 0 for none. */
  readonly criticalWarning: number;
  readonly reallocatedSectors: number | null;
  /** Sectors that it could not read and has not replaced yet. */
  readonly pendingSectors: number | null;
  /** Reads that no correction helped. */
  readonly uncorrectableErrors: number | null;
  /** How much of its rated endurance is used; may exceed 100. */
  readonly wearPercent: number | null;
  readonly celsius: number | null;
  readonly powerOnHours: number | null;
  /** The last self-test that ended; `ageHours` is in hours that the disk was on. */
  readonly selfTest: { readonly hasPassed: boolean; readonly ageHours: number | null } | null;
}

/** A disk that was found and says nothing of its health now. */
export interface UnreadDisk {
  readonly name: string;
  /** Why, in a few words: `in standby`, or what the program says. */
  readonly unread: string;
}

export interface SmartDisks {
  /** Whether there is a disk to ask, and a program to ask with; no rights are needed to tell. */
  readonly canList: () => Promise<boolean>;
  /** All that are found. Disks in standby are not woken. @throws without an answer of the program, which takes root. */
  readonly list: (signal: AbortSignal) => Promise<readonly (SmartDisk | UnreadDisk)[]>;
}
