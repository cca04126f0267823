import type { UnitRepair } from "#domain/ports/units.ts";
import type { FakeUnit, FakeUnits } from "./units.ts";
import { createFakeUnits } from "./units.ts";

/** Units in memory that can be started again: in truth it is one systemd that both ports speak of. */
export const createFakeUnitRepair = (units: readonly FakeUnit[] = []): UnitRepair & FakeUnits => createFakeUnits(units);
