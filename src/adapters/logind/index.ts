import type { Exec } from "#adapters/exec/index.ts";
import { type Reboots, RebootsUnavailable } from "#domain/ports/reboots.ts";
import { parseJsonObject } from "#kernel/values.ts";

const destination = "org.freedesktop.login1";
const manager = ["/org/freedesktop/login1", "org.freedesktop.login1.Manager"] as const;
const usecPerMs = 1000;

/** The `data` of busctl's JSON. */
function dataOf(text: string): readonly unknown[] {
  const { data } = parseJsonObject(text) ?? {};
  if (!Array.isArray(data)) throw new RebootsUnavailable("busctl answers something else");
  return data;
}

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
  const busctl = async (words: readonly string[], signal: AbortSignal): Promise<string> => {
    const options = ["--system", "--json=short", "--timeout=20", "--"];
    const { exitCode, stdout, stderr } = await exec(["busctl", ...options, ...words], { signal, timeoutMs: 30_000 });
    if (exitCode !== 0) throw new RebootsUnavailable(stderr.trim() || `busctl ended with ${exitCode}`);
    return stdout;
  };
  const call = (signal: AbortSignal, ...words: readonly string[]): Promise<string> =>
    busctl(["call", destination, ...manager, ...words], signal);
  const property = (signal: AbortSignal, ...words: readonly string[]): Promise<string> =>
    busctl(["get-property", destination, ...words], signal);

  /** Since systemd 256 the manager of a user is a session too. Undefined for a session that has just ended. */
  const userOf = async ([, , name, , path]: readonly unknown[], signal: AbortSignal): Promise<string | undefined> => {
    try {
      const text = await property(signal, String(path), "org.freedesktop.login1.Session", "Class");
      const { data }: { readonly data?: unknown } = JSON.parse(text);
      return String(data).startsWith("user") ? String(name) : undefined;
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
      const users = await Promise.all(rowsOf(dataOf(sessions)).map((row) => userOf(row, signal)));
      return {
        ...scheduleIn(dataOf(scheduled)),
        users: [...new Set(users.filter((name) => name !== undefined))].sort(),
        inhibitors: inhibitorsIn(dataOf(inhibitors)),
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
