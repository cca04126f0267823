import { join } from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { LogList } from "#contract/logs.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { encodeEntry, type Field } from "../../journals/export-format.ts";
import { journalRemote } from "../../journals/programs.ts";
import { runCommand } from "../commands.ts";
import { eventually } from "./eventually.ts";
import type { Session } from "./session.ts";

/** Sends datagrams of the journal's native protocol, base64 one a line; what is too long for one goes as a memory file. */
const sender = `
import base64, os, socket, sys, array
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for line in sys.stdin:
    data = base64.b64decode(line)
    if len(data) <= 65536:
        s.sendto(data, "/run/systemd/journal/socket")
        continue
    fd = os.memfd_create("entry", os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    import fcntl
    fcntl.fcntl(fd, 1033, 15)
    s.sendmsg([], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))], 0, "/run/systemd/journal/socket")
    os.close(fd)
`;

/** Writes entries with just these fields to the journal of the host; journald adds its own. */
export async function sendNative(
  { host }: Pick<Session, "host">,
  entries: readonly (readonly Field[])[],
  options: { readonly user?: string } = {},
): Promise<void> {
  // journald takes the export format and leaves out the names that are its own.
  const lines = entries.map((fields) =>
    encodeEntry({ realtime: 0, monotonic: 0, bootId: "", fields }).toString("base64"),
  );
  await host.exec(["python3", "-c", sender], { ...options, input: `${lines.join("\n")}\n` });
}

/** Where the journal of the host lies, seen from outside: what the guest has on its disk. */
export const journalDirectory = ({ host }: Pick<Session, "host">): string => join(host.root, "var/log/journal");

/** Waits until journald has taken and written all that was sent to it. */
export async function synced({ host }: Pick<Session, "host">): Promise<void> {
  await host.exec(["journalctl", "--sync"]);
}

/** Writes lines of the kernel into the journal of the guest, whose journald does not read those of the machine. */
export async function recordKernelLines(
  session: Pick<Session, "host">,
  name: string,
  lines: readonly string[],
): Promise<void> {
  const machineId = (await session.host.readFile("/etc/machine-id")).trim();
  const file = join(journalDirectory(session), machineId, `system@${name}.journal`);
  const now = Date.now() * 1000;
  const entries = lines.map((line, at) =>
    encodeEntry({
      realtime: now + at,
      monotonic: at + 1,
      bootId: "0123456789abcdef0123456789abcdef",
      fields: [
        ["_TRANSPORT", "kernel"],
        ["SYSLOG_IDENTIFIER", "kernel"],
        ["PRIORITY", "3"],
        ["MESSAGE", line],
      ],
    }),
  );
  await runCommand([journalRemote, `--output=${file}`, "-"], { input: Buffer.concat(entries).toString("latin1") });
}

const asTimestamp = (micros: number): string =>
  `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, 19)}.${String(micros % 1_000_000).padStart(6, "0")}Z`;

/** Asks the service what the port would be asked. */
export async function askLogs({ api }: Pick<Session, "api">, query: Partial<LogQuery>): Promise<LogList> {
  const { units, since, until, priority, identifier, boot, grep, cursor, order, limit } = query;
  const [unit] = units ?? [];
  if (units !== undefined && units.length !== 1) throw new Error("the endpoint takes one unit");
  // What is expected takes seconds to compute on a busy machine: a connection that was closed meanwhile is noticed before it is used.
  await setTimeout(0);
  await setImmediate();
  return api.listLogs({
    query: {
      since: asTimestamp(since ?? 0),
      ...(until !== undefined && { until: asTimestamp(until) }),
      ...(unit !== undefined && { unit }),
      ...(priority !== undefined && { priority }),
      ...(identifier !== undefined && { identifier }),
      ...(boot !== undefined && { boot }),
      ...(grep !== undefined && { grep }),
      ...(cursor !== undefined && { cursor }),
      ...(order !== undefined && { order }),
      ...(limit !== undefined && { limit }),
    },
  });
}

/** Deleted journal files that the service holds, once there are none; otherwise throws what they are. */
export async function holdsNoDeletedFile(session: Session, timeoutMs = 30_000): Promise<void> {
  const pid = await session.service.pid();
  await eventually(async () => {
    const held = await session.shell(`ls -l /proc/${pid}/fd | grep 'journal.*(deleted)' || true`);
    if (held !== "") throw new Error(`the service holds deleted files:\n${held}`);
  }, timeoutMs);
}
