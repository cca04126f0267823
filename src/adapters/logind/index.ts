import { type Busctl, createBusctl } from "#adapters/exec/busctl.ts";
import { CommandFailed, escapeArgument } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { type Reboots, RebootsUnavailable } from "#domain/ports/reboots.ts";

const destination = "org.freedesktop.login1";
const manager = ["/org/freedesktop/login1", "org.freedesktop.login1.Manager"] as const;
const usecPerMs = 1000;

const systemd = "org.freedesktop.systemd1";
const systemdManager = ["/org/freedesktop/systemd1", `${systemd}.Manager`] as const;
/** What reboots where logind schedules nothing past those who inhibit it. */
const timer = "steward-reboot.timer";
const timerPath = `/org/freedesktop/systemd1/unit/${timer.replace("-", "_2d").replace(".", "_2e")}`;

const rowsOf = (data: readonly unknown[]): readonly (readonly unknown[])[] => {
  const [rows] = data;
  return Array.isArray(rows) ? rows.filter((row) => Array.isArray(row)) : [];
};

/** Signature `a(ssssuu)`: what, who, why, mode, uid, pid. */
const inhibitorsIn = (data: readonly unknown[]) =>
  rowsOf(data).flatMap(([what, who, why, mode]) =>
    String(what).split(":").includes("shutdown")
      ? [{ who: String(who), why: String(why), blocks: mode !== "delay" }]
      : [],
  );

/** Signature `(st)`. Without anything scheduled the time is 0 or the largest number, by version. */
function scheduleIn([kind, usec]: readonly unknown[]) {
  const isSet = typeof kind === "string" && kind !== "" && typeof usec === "number" && usec > 0;
  return isSet ? { kind, scheduledAt: Math.round(usec / usecPerMs) } : { kind: "", scheduledAt: null };
}

/** As logind does it, by the same target. */
const reboot = ["systemctl", "start", "reboot.target", "--job-mode=replace-irreversibly", "--no-block"];

/** Without a timer, or with one that has elapsed, the time is 0 or the largest number. */
function timerIn(usec: unknown) {
  const isSet = typeof usec === "number" && usec > 0 && usec < Number.MAX_SAFE_INTEGER;
  return isSet ? { kind: "reboot", scheduledAt: Math.round(usec / usecPerMs) } : { kind: "", scheduledAt: null };
}

/** As systemd.time(7) has it. */
const calendarOf = (at: number): string => new Date(at).toISOString().replace("T", " ").replace("Z", " UTC");

/** A timer of systemd that reboots the host, no matter who inhibits it. */
function rebootTimer(exec: Exec, bus: Busctl) {
  const scheduled = async (signal: AbortSignal) =>
    timerIn(await bus.property(signal, systemd, timerPath, `${systemd}.Timer`, "NextElapseUSecRealtime"));
  return {
    scheduled,
    async start(at: number, message: string, signal: AbortSignal): Promise<void> {
      const run = async (...words: readonly string[]): Promise<string | undefined> => {
        const argv = ["systemd-run", "--quiet", "--collect", ...words] as const;
        const { exitCode, stderr } = await exec(argv, { signal, timeoutMs: 30_000 }).catch((error: unknown) => {
          signal.throwIfAborted();
          throw error instanceof CommandFailed ? new RebootsUnavailable(error.message) : error;
        });
        return exitCode === 0 ? undefined : stderr.trim() || `systemd-run ended with ${exitCode}`;
      };
      const when = [`--on-calendar=${calendarOf(at)}`, "--timer-property=AccuracySec=1s"];
      const failure = await run(`--unit=${timer}`, ...when, "--", ...reboot);
      if (failure !== undefined) throw new RebootsUnavailable(failure);
      // A host without wall is rebooted all the same. One word alone would be the name of a file, where there is one.
      const reported = [message, "The system will reboot at", `${calendarOf(at)}!`].filter((line) => line !== "");
      await run("--no-block", "--", "wall", ...reported.map(escapeArgument));
    },
    async stop(signal: AbortSignal): Promise<void> {
      if ((await scheduled(signal)).scheduledAt === null) return;
      await bus.call(signal, systemd, ...systemdManager, "StopUnit", "ss", timer, "replace");
    },
  };
}

/** systemd-logind, asked by busctl. */
export function createReboots({ exec }: { readonly exec: Exec }): Reboots {
  const bus = createBusctl({ exec, fail: (why) => new RebootsUnavailable(why) });
  const byTimer = rebootTimer(exec, bus);
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

  const blockers = async (signal: AbortSignal) =>
    inhibitorsIn(await call(signal, "ListInhibitors")).filter(({ blocks }) => blocks);

  return {
    async state(signal) {
      const [sessions, inhibitors, scheduled, timed] = await Promise.all([
        call(signal, "ListSessions"),
        call(signal, "ListInhibitors"),
        property(signal, ...manager, "ScheduledShutdown"),
        byTimer.scheduled(signal),
      ]);
      const users = await Promise.all(rowsOf(sessions).map((row) => userOf(row, signal)));
      const byLogind = scheduleIn(Array.isArray(scheduled) ? scheduled : []);
      return {
        ...(byLogind.scheduledAt === null ? timed : byLogind),
        users: [...new Set(users.filter((name) => name !== undefined))].sort(),
        inhibitors: inhibitorsIn(inhibitors),
      };
    },
    async schedule(at, { message, ignoresInhibitors }, signal) {
      await byTimer.stop(signal);
      await call(signal, "SetWallMessage", "sb", message, "true");
      try {
        await call(signal, "ScheduleShutdown", "st", "reboot", String(at * usecPerMs));
      } catch (error) {
        // Since systemd 257 logind refuses it to root, too. That these are to be ignored it takes for a reboot at once alone, and then has
        // polkit ask root for a password.
        if (!ignoresInhibitors || (await blockers(signal)).length === 0) throw error;
        await byTimer.start(at, message, signal);
      }
    },
    async cancel(signal) {
      await call(signal, "CancelScheduledShutdown");
      await byTimer.stop(signal);
    },
  };
}
