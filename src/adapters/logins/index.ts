import { constants, existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { createBusctl } from "#adapters/exec/busctl.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { LoginSession, Logins } from "#domain/ports/accounts.ts";
import { errorMessage, isNotFound } from "#kernel/errors.ts";
import { parseWtmp, wtmpLayout } from "./wtmp.ts";

const login = "org.freedesktop.login1";
const object = "/org/freedesktop/login1";
const usecPerMs = 1000;
const mostSessions = 1000;
const mostRecords = 20_000;

const hostPaths = { wtmp: "/var/log/wtmp", wtmpdb: ["/var/lib/wtmpdb/wtmp.db", "/var/log/wtmp.db"] };

class LogindSilent extends HostUnavailable {
  override readonly name = "LogindSilent";

  constructor(why: string) {
    super(why, { missing: "logind", retryable: true });
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);

export function createLogins(ports: {
  readonly exec: Exec;
  readonly paths?: typeof hostPaths;
  readonly architecture?: string;
}): Logins {
  const { exec, paths = hostPaths, architecture = process.arch } = ports;
  const bus = createBusctl({ exec, fail: (why) => new LogindSilent(why) });

  /** Undefined for a session that has just ended. */
  const sessionAt = async (path: string, signal: AbortSignal): Promise<LoginSession | undefined> => {
    try {
      const found = await bus.properties(signal, login, path, "org.freedesktop.login1.Session");
      const [uid] = (found.get("User") ?? []) as readonly unknown[];
      const [seat] = (found.get("Seat") ?? []) as readonly unknown[];
      return {
        id: textOf(found.get("Id")),
        user: textOf(found.get("Name")),
        uid: numberOf(uid),
        kind: textOf(found.get("Class")),
        service: textOf(found.get("Service")),
        tty: textOf(found.get("TTY")),
        seat: textOf(seat),
        remoteHost: textOf(found.get("RemoteHost")),
        state: textOf(found.get("State")),
        since: Math.floor(numberOf(found.get("Timestamp")) / usecPerMs),
        leaderPid: numberOf(found.get("Leader")),
      };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof LogindSilent) return undefined;
      throw error;
    }
  };

  const wtmpMissing = (): string =>
    paths.wtmpdb.some((path) => existsSync(path))
      ? "logins are in the database of wtmpdb, which is not supported (wtmpdb last shows them)"
      : `${paths.wtmp} does not exist: this host does not record logins (the package wtmpdb does; the journal has the messages of sshd)`;

  return {
    async sessions(signal) {
      try {
        const [rows] = await bus.call(signal, login, object, "org.freedesktop.login1.Manager", "ListSessions");
        if (!Array.isArray(rows)) throw new LogindSilent("unexpected answer of busctl");
        const sessions: LoginSession[] = [];
        for (const row of rows.slice(0, mostSessions) as readonly (readonly unknown[])[]) {
          const found = await sessionAt(textOf(row[4]), signal);
          // Since systemd 256 the manager of a user is a session too.
          if (found?.kind.startsWith("user") === true) sessions.push(found);
        }
        return sessions;
      } catch (error) {
        if (!(error instanceof LogindSilent)) throw error;
        return { reason: `logind does not answer: ${error.message}` };
      }
    },
    async recent(limit) {
      const layout = wtmpLayout(architecture);
      if (layout === undefined)
        return { reason: `the records of ${paths.wtmp} are not known on ${architecture} (last shows them)` };
      try {
        // A pipe in its place would be waited for, by one of the few threads of the process.
        const file = await open(paths.wtmp, constants.O_RDONLY | constants.O_NONBLOCK);
        try {
          const found = await file.stat();
          if (!found.isFile()) return { reason: `${paths.wtmp} is not a regular file` };
          const { size } = found;
          const whole = Math.floor(size / layout.recordBytes);
          const bytes = Buffer.alloc(Math.min(whole, mostRecords) * layout.recordBytes);
          const { bytesRead } = await file.read(bytes, 0, bytes.length, whole * layout.recordBytes - bytes.length);
          return parseWtmp(bytes.subarray(0, bytesRead), layout, limit);
        } finally {
          await file.close();
        }
      } catch (error) {
        return { reason: isNotFound(error) ? wtmpMissing() : `cannot read ${paths.wtmp}: ${errorMessage(error)}` };
      }
    },
  };
}
