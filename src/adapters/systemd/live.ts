import type { Units } from "#domain/ports/units.ts";
import type { ServicePolicy } from "#domain/system/service-policy.ts";
import type { Dispose } from "#kernel/clock.ts";
import { calls } from "./calls.ts";
import { failedUnits, inspectUnit, type Systemd } from "./inspect.ts";
import { restartDetached, restartUnit, startUnit } from "./restart.ts";
import { openSession, type SessionPorts } from "./session.ts";

export interface LiveUnits extends Units {
  /**
   * Starts a unit and waits, without limit, for the result of its job; for a unit that runs to its end, that comes with the end.
   * @returns systemd's job result; `lost` when the bus went away meanwhile.
   * @throws UnitsUnavailable, UnitRefused.
   */
  readonly start: (name: string) => Promise<string>;
  readonly ping: () => Promise<void>;
  readonly dispose: Dispose;
}

/** Service units over D-Bus: a mirror kept by signals, so that a listing costs no round trip. */
export function createLiveUnits(ports: SessionPorts & { readonly policy: ServicePolicy }): LiveUnits {
  const { clock, policy } = ports;
  const systemd: Systemd = { ...openSession(ports), clock, policy };
  return {
    list: systemd.list,
    failed: () => failedUnits(systemd),
    read: async (name) => (await inspectUnit(systemd, name)).unit,
    start: (name) => startUnit(systemd, name),
    restart: (name, signal) => restartUnit(systemd, name, signal),
    restartDetached: (name) => restartDetached(systemd, name),
    async resetFailed(name) {
      await systemd.call(calls.resetFailedUnit(name), () => undefined);
    },
    async settled(name, waitMs) {
      const over = new AbortController();
      const stop = systemd.watch(name, ({ activeState, subState }) => {
        if (activeState === "failed" || subState === "auto-restart") over.abort();
      });
      await clock.sleep(waitMs, over.signal);
      stop();
    },
    async ping() {
      // A service that has just started is still reading the units; a bus that was lost is to be reported at once.
      if (!systemd.wasReady()) await systemd.untilReady();
      await systemd.call(calls.getManager("Version"), () => undefined);
    },
    dispose: systemd.dispose,
  };
}
