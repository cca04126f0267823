import { isIP } from "node:net";
import { join } from "node:path";
import { parseSockets, states } from "./parse.ts";
import { readText } from "./text.ts";

const everywhere = new Set(["0.0.0.0", "::"]);

/**
 * The users whose sockets take what is sent to an address of this machine: those of this very address, and those of all
 * addresses. Of a name, which may stand for several addresses, those of any.
 */
export async function listenersAt(
  { host, port }: { readonly host: string; readonly port: number },
  procDir = "/proc",
): Promise<ReadonlySet<number>> {
  const texts = await Promise.all(["tcp", "tcp6"].map((name) => readText(join(procDir, "net", name))));
  const sockets = parseSockets(texts.join(""), states.listen).filter((socket) => socket.port === port);
  const takes = (address: string): boolean => isIP(host) === 0 || address === host || everywhere.has(address);
  return new Set(sockets.filter(({ address }) => takes(address)).map(({ uid }) => uid));
}
