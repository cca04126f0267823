import { duplexPair } from "node:stream";
import { connect, createSecureContext, TLSSocket } from "node:tls";
import { contextOptions, type ServerTls } from "./tls.ts";

/** Far more than a handshake in memory takes. */
const longestMs = 10_000;

/** OpenSSL's reason in an error: `no suitable signature algorithm`. */
const opensslReason = (error: Error): string =>
  "reason" in error && typeof error.reason === "string" ? error.reason : error.message;

/** Makes a handshake in memory. @throws Error when no client could connect with this certificate and key. */
export async function requireHandshake(tls: ServerTls): Promise<void> {
  const secureContext = createSecureContext(contextOptions(tls));
  const [serverSide, clientSide] = duplexPair();
  const server = new TLSSocket(serverSide, { isServer: true, secureContext });
  // Trust is for real clients to decide; here the handshake only has to complete.
  const client = connect({ socket: clientSide, rejectUnauthorized: false, minVersion: "TLSv1.2" });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new Error("it does not end")), longestMs);
  server.on("error", reject);
  client.on("error", reject);
  client.once("secureConnect", resolve);
  try {
    await promise;
  } catch (error) {
    const reason = error instanceof Error ? opensslReason(error) : String(error);
    throw new Error(`a handshake with this certificate and key fails: ${reason}`, { cause: error });
  } finally {
    clearTimeout(timer);
    client.destroy();
    server.destroy();
  }
}
