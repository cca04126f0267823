import type { TimeSync, TimeSyncState } from "#domain/ports/host.ts";
import { asIsolated, type BuiltInCheck, type Outcome, skip } from "../check.ts";

function judgeClock(
  { canSync, isEnabled, isSynchronised, isContainer, otherDaemon }: TimeSyncState,
  isIsolated: boolean,
): Omit<Outcome, "details"> {
  if (isSynchronised && (isEnabled || isContainer || !canSync))
    return { status: "pass", message: "The clock is synchronised" };
  if (isSynchronised && otherDaemon !== undefined)
    return { status: "pass", message: `The clock is synchronised by ${otherDaemon}` };
  if (isIsolated) return { status: "skip", message: `Nothing sets the clock, ${asIsolated}`, fixId: null };
  if (isEnabled)
    return {
      status: "warn",
      message: "Time synchronisation is on, but the clock is not synchronised yet: a time server may be unreachable",
      fixId: null,
    };
  if (otherDaemon !== undefined)
    return {
      status: "warn",
      message: `${otherDaemon} runs, but the clock is not synchronised yet: a time server may be unreachable`,
      fixId: null,
    };
  if (canSync)
    return { status: "fail", message: "Time synchronisation is off: the clock drifts (timedatectl set-ntp true)" };
  return { status: "skip", message: "No time synchronisation service that systemd knows is installed", fixId: null };
}

export const timeSyncCheck = ({ time }: { time: Pick<TimeSync, "state"> }): BuiltInCheck => ({
  id: "time_sync",
  name: "Time synchronisation",
  category: "system",
  severity: "medium",
  about:
    "Whether the clock is synchronised, by the time service of systemd or another daemon. The kernel's own word is " +
    "believed where another party sets its clock. With `isolated: true` it is skipped where nobody does.",
  meaning:
    "Nothing synchronises the clock, or it is not synchronised yet: it will drift, and certificates, logs and " +
    "logins will be affected.",
  remedy: "Enable a time service (timedatectl set-ntp true) and allow outgoing NTP (UDP port 123).",
  // Each question has systemd start its time service.
  calmIntervalMs: 15 * 60_000,
  fixes: ["enable_time_sync"],
  async run({ isIsolated = false }, signal) {
    const state = await time.state(signal);
    if (state === undefined)
      return {
        ...skip("It is unknown whether the clock is synchronised: nothing on this host reports it"),
        fixId: null,
      };
    return {
      ...judgeClock(state, isIsolated),
      details: {
        can_sync: state.canSync,
        enabled: state.isEnabled,
        synchronised: state.isSynchronised,
        container: state.isContainer,
        ...(state.otherDaemon !== undefined && { other_daemon: state.otherDaemon }),
      },
    };
  },
});
