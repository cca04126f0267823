export interface Fault {
  readonly source: string;
  readonly line?: number;
  readonly column?: number;
  /** `rate_limits.per_minute`; empty for the whole file. */
  readonly path: string;
  readonly message: string;
}

/** Makes a fault, with the place of its setting. */
export type FaultAt = (path: readonly string[], message: string) => Fault;

/** `config.yaml:3:7: rate_limits.per_minute: must be an integer` */
export function formatFault({ source, line, column, path, message }: Fault): string {
  const place = line === undefined ? source : `${source}:${line}:${column ?? 1}`;
  return path === "" ? `${place}: ${message}` : `${place}: ${path}: ${message}`;
}

export const absolutePath = "must be an absolute path";

export type SettingFaults = readonly (readonly [setting: string, message: string])[];

export const faultIf = (isWrong: boolean, setting: string, message: string): SettingFaults =>
  isWrong ? [[setting, message]] : [];

export class SettingsFaulty extends Error {
  override readonly name = "SettingsFaulty";
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(["cannot use the settings:", ...faults.map((fault) => `  ${formatFault(fault)}`)].join("\n"));
    this.faults = faults;
  }
}
