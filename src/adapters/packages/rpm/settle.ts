import { createSettle } from "../apt/transactions.ts";

/**
 * Rpm names what it unpacks after the second in which it began: what one that was killed has left is in the way ("File exists")
 * of the next one in the same second.
 */
const rpmSecondMs = 1_000;

/** Waits until a unit is over that an earlier process may have started, and rpm can begin again, however that one ended. */
export function createRpmSettle(ports: Parameters<typeof createSettle>[0]): ReturnType<typeof createSettle> {
  const settle = createSettle(ports);
  return async (unit, signal) => {
    await settle(unit, signal);
    await ports.clock.sleep(rpmSecondMs, signal);
    signal.throwIfAborted();
  };
}
