/** Bytes in and out of each device since it was there, by its name: read and written, or received and sent. */
export type Traffic = ReadonlyMap<string, readonly [bytesIn: number, bytesOut: number]>;

/** What the host says of itself at a time; a member is undefined where it cannot be read. */
export interface HostSample {
  readonly load: { readonly oneMinute: number; readonly fifteenMinutes: number } | undefined;
  /** Processor time so far, in any unit. */
  readonly cpu: { readonly total: number; readonly busy: number; readonly ioWait: number | undefined } | undefined;
  readonly memory:
    | {
        readonly totalBytes: number;
        readonly availableBytes: number;
        readonly swapTotalBytes: number;
        readonly swapFreeBytes: number;
      }
    | undefined;
  readonly disks: Traffic | undefined;
  readonly links: Traffic | undefined;
  /** Percent of the last ten seconds in which some task waited. */
  readonly pressure:
    | { readonly cpu: number | undefined; readonly memory: number | undefined; readonly io: number | undefined }
    | undefined;
  /** Why members, or members of these, are undefined. */
  readonly absences: readonly Absence[];
}

export interface Absence {
  readonly of: Exclude<keyof HostSample, "absences"> | "ioWait";
  readonly reason: string;
}

export interface HostSampler {
  /** Never fails: what cannot be read is absent. */
  readonly sample: () => Promise<HostSample>;
}

/** Values by slots, each of so many milliseconds, counted from 1970. */
export interface Ring {
  readonly stepMs: number;
  /** So many slots, up to the newest. */
  readonly length: number;
  readonly newest: number;
  /** Row after row of `length` values, that of a slot at its number modulo the length; NaN for none. */
  readonly values: Float32Array;
}

/** Keeps rings for the next start of the service. */
export interface RingStore {
  /** None where they were not kept, or by another version. */
  readonly load: () => readonly Ring[] | undefined;
  readonly save: (rings: readonly Ring[]) => void;
}
