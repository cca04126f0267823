import type { TimeSync, TimeSyncState } from "#domain/ports/host.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Fix } from "../fix.ts";

const waitMs = 20_000;
const betweenMs = 500;

/** Enables time synchronisation, and waits a while for the clock to be synchronised. */
export function enableTimeSyncFix(ports: { time: TimeSync; clock: Pick<Clock, "monotonicMs" | "sleep"> }): Fix {
  const { time, clock } = ports;

  const until = async (
    isGood: (state: TimeSyncState) => boolean,
    signal: AbortSignal,
  ): Promise<TimeSyncState | undefined> => {
    const endMs = clock.monotonicMs() + waitMs;
    for (;;) {
      const state = await time.state(signal);
      if (state === undefined || isGood(state) || clock.monotonicMs() >= endMs) return state;
      await clock.sleep(betweenMs, signal);
      signal.throwIfAborted();
    }
  };

  return {
    id: "enable_time_sync",
    summary: "Switches on time synchronisation (timedatectl set-ntp true)",
    risk: "safe",
    alsoNeeds: [],
    kind: "clock",
    endsOnFailure: true,
    async plan(_found, signal) {
      const state = await time.state(signal);
      if (state?.canSync !== true) return { steps: [], reason: "no service that sets the clock is installed" };
      if (state.otherDaemon !== undefined)
        return { steps: [], reason: `${state.otherDaemon} sets the clock, and a second service would work against it` };
      if (state.isEnabled) return { steps: [], reason: "time synchronisation is on already" };
      return {
        steps: [
          {
            action: "switch on time synchronisation (timedatectl set-ntp true)",
            async run(stepSignal) {
              await time.enable(stepSignal);
              const after = await until(({ isEnabled, isSynchronised }) => isEnabled && isSynchronised, stepSignal);
              if (after?.isEnabled !== true) {
                const seconds = waitMs / 1000;
                throw new Error(`it was switched on, but its service does not run after ${seconds} s: see its log`);
              }
              return after.isSynchronised
                ? "Time synchronisation is on, and the clock is synchronised"
                : "Time synchronisation is on; the clock is not synchronised yet";
            },
          },
        ],
      };
    },
  };
}
