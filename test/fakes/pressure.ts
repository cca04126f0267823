import type { Pressure, ResourcePressure } from "#domain/ports/kernel.ts";

const none = { avg10: 0, avg60: 0, avg300: 0 };

/** The pressure on one resource: none unless given. */
export const fakePressureOn = (
  resource: ResourcePressure["resource"],
  given: Partial<ResourcePressure> = {},
): ResourcePressure => ({ resource, some: none, full: none, ...given });

const idle = [fakePressureOn("cpu"), fakePressureOn("memory"), fakePressureOn("io")];

/** @param found null stands for a kernel without pressure stall information. */
export const createFakePressure = (found: readonly ResourcePressure[] | null = idle): Pressure => ({
  read: () => Promise.resolve(found ?? undefined),
});
