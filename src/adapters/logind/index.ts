import { createBusctl } from "#adapters/exec/busctl.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { type Reboots, RebootsUnavailable } from "#domain/ports/reboots.ts";

const destination = "org.freedesktop.login1";
const manager = ["/org/freedesktop/login1", "org.freedesktop.login1.Manager"] as const;
const usecPerMs = 1000;

const rowsOf = (data: readonly unknown[]): readonly (readonly unknown[])[] => {
  const [rows] = data;
  return Array.isArray(rows) ? rows.filter((row) => Array.isArray(row)) : [];
};

/** Signature `a(ssssuu)`: what, who, why, mode, uid, pid. */
const inhibitorsIn = (data: readonly unknown[]) =>
  rowsOf(data).flatMap(([what, who, why, mode]) =>
    String(what).split(":").includes("shutdown")
      ? [{ who: String(who), why: String(why), blocks: mode === "block" }]
      : [],
  );

/** Signature `(st)`. Without anything scheduled the time is 0 or the largest number, by version. */
function scheduleIn([kind, usec]: readonly unknown[]) {
  const isSet = typeof kind === "string" && kind !== "" && typeof usec === "number" && usec > 0;
  return isSet ? { kind, scheduledAt: Math.round(usec / usecPerMs) } : { kind: "", scheduledAt: null };
}

/** systemd-logind, asked by busctl. */
export function createReboots({ exec }: { readonly exec: Exec }): Reboots {
  const bus = createBusctl({ exec, fail: (why) => new RebootsUnavailable(why) });
  const call = (signal: AbortSignal, ...words: readonly string[]) =>
    bus.call(signal, destination, ...manager, ...words);
  const property = (signal: AbortSignal, ...words: readonly string[]) => bus.property(signal, destination, ...words);

  /** Since systemd 256 the manager of a user is a session too. Undefined for a session that has just ended. */
  const userOf = async ([, , name, , path]: readonly unknown[], signal: AbortSignal): Promise<string | undefined> => {
    try {
      const kind = await property(signal, String(path), "org.freedesktop.login1.Session", "Class");
      return String(kind).startsWith("user") ? String(name) : undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RebootsUnavailable) return undefined;
      throw error;
    }
  };

  return {
    async state(signal) {
      const [sessions, inhibitors, scheduled] = await Promise.all([
        call(signal, "ListSessions"),
        call(signal, "ListInhibitors"),
        property(signal, ...manager, "ScheduledShutdown"),
      ]);
      const users = await Promise.all(rowsOf(sessions).map((row) => userOf(row, signal)));
      return {
        ...scheduleIn(Array.isArray(scheduled) ? scheduled : []),
        users: [...new Set(users.filter((name) => name !== undefined))].sort(),
        inhibitors: inhibitorsIn(inhibitors),
      };
    },
    async schedule(at, message, signal) {
      await call(signal, "SetWallMessage", "sb", message, "true");
      await call(signal, "ScheduleShutdown", "st", "reboot", String(at * usecPerMs));
    },
    async cancel(signal) {
      await call(signal, "CancelScheduledShutdown");
    },
  };
}
