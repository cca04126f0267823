import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { listenersAt } from "#adapters/sockets/open-ports.ts";
import { readServiceFile } from "#config/places.ts";

const defaultPort = 80;
const root = 0;

type Holder = "service" | "nobody" | number;

async function holderOf(url: URL, own: ReadonlySet<number>): Promise<Holder> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const users = await listenersAt({ host, port: url.port === "" ? defaultPort : Number(url.port) });
  if (users.size === 0) return "nobody";
  return [...users].find((uid) => !own.has(uid)) ?? "service";
}

/** Any user may take the port while the service does not hold it, so the holder counts. @throws Error when unreadable. */
export async function readAdminKey(
  path: string,
  url: string,
): Promise<{ readonly text: string; readonly holder: Holder }> {
  const { text, uid } = readServiceFile(path);
  const address = new URL(url);
  if (address.protocol === "https:") return { text, holder: "service" };
  const own = new Set([root, uid, (await stat(dirname(path))).uid]);
  return { text, holder: await holderOf(address, own) };
}
