/** Told while something runs. */
export interface Progress {
  /** 0 to 100, and what is being done. */
  readonly step: (percent: number, what: string) => void;
  /** A line of a program's output. */
  readonly line: (text: string) => void;
}
