/** A temperature sensor of the kernel's hwmon. */
export interface TemperatureSensor {
  /** Chip and label: `coretemp Package id 0`. */
  readonly name: string;
  readonly celsius: number;
  /** At which the hardware protects itself; null where it does not say, or nothing that can be. */
  readonly criticalCelsius: number | null;
  /** Whether the hardware itself says that it is reached. */
  readonly isAlarming: boolean;
}

/** A sensor that does not answer: asleep, not connected, or one whose driver refuses. */
export interface UnreadableSensor {
  readonly name: string;
  /** The code of the system's refusal, `ENXIO`. */
  readonly unreadable: string;
}

export interface Temperatures {
  /** None on machines without sensors, such as virtual ones. Each has a name of its own. */
  readonly list: () => Promise<readonly (TemperatureSensor | UnreadableSensor)[]>;
}
