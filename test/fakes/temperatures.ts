import type { TemperatureSensor, Temperatures, UnreadableSensor } from "#domain/ports/kernel.ts";

/** A processor that is not busy. */
export const fakeSensor = (given: Partial<TemperatureSensor> = {}): TemperatureSensor => ({
  name: "coretemp Package id 0",
  celsius: 45,
  criticalCelsius: 100,
  isAlarming: false,
  ...given,
});

export const createFakeTemperatures = (
  sensors: readonly (TemperatureSensor | UnreadableSensor)[] = [],
): Temperatures => ({
  list: () => Promise.resolve(sensors),
});
