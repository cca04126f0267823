import { createServer } from "node:net";
import { until } from "./until.ts";

/** A port of loopback that something else listens on. */
export async function takenPort(): Promise<{ readonly port: number; readonly release: () => void }> {
  const server = createServer().listen(0, "127.0.0.1");
  const address = await until("an address", () => server.address() ?? undefined);
  if (typeof address === "string") throw new Error("not a TCP address");
  return { port: address.port, release: () => server.close() };
}
