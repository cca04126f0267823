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

export interface Temperatures {
  /** None on machines without sensors, such as virtual ones. */
  readonly list: () => Promise<readonly TemperatureSensor[]>;
}
