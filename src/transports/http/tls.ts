import { constants } from "node:crypto";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { duplexPair } from "node:stream";
import { connect, createSecureContext, type SecureContextOptions, TLSSocket, Server as TlsServer } from "node:tls";
import type { ClientCertificate } from "#domain/ports/access.ts";
import type { Logger } from "#telemetry/logger.ts";

export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  readonly clients?:
    | {
        readonly ca: string;
        /** Revocation lists, one of each CA. */
        readonly crl?: readonly string[] | undefined;
        /** Whether the handshake fails without a certificate. */
        readonly isRequired: boolean;
      }
    | undefined;
}

/** Mozilla's "intermediate" list (Server Side TLS 5.7) without the finite-field suites, which need parameters of their own. */
const ciphers = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

/**
 * Without tickets no session is resumed: each handshake verifies the client's certificate again, and no ticket key needs rotation.
 * Clients do not change on an open connection, so there is no renegotiation.
 */
const secureOptions = constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION;

export const contextOptions = ({ cert, key, clients }: ServerTls): SecureContextOptions => ({
  cert,
  key,
  ...(clients && { ca: clients.ca, ...(clients.crl !== undefined && { crl: [...clients.crl] }) }),
  minVersion: "TLSv1.2",
  ciphers,
  // All of them are good; the client knows which is fastest for it.
  honorCipherOrder: false,
  secureOptions,
});

export const handshakeOptions = ({ clients }: ServerTls) => ({
  requestCert: clients !== undefined,
  rejectUnauthorized: clients?.isRequired ?? false,
  ALPNProtocols: ["http/1.1"],
});

export function replaceContext(servers: Iterable<Server>, tls: ServerTls): void {
  for (const server of servers) if (server instanceof TlsServer) server.setSecureContext(contextOptions(tls));
}

const sha256Of = (fingerprint: string): string => fingerprint.replaceAll(":", "").toLowerCase();

/** The certificate of a client: undefined without one, "refused" when it is not trusted. */
export type Shown = ClientCertificate | "refused" | undefined;

function readCertificate(socket: TLSSocket): Shown {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  if (!socket.authorized) return "refused";
  return { sha256: sha256Of(certificate.fingerprint256), validTo: certificate.validToDate.getTime() };
}

export type ClientCertificates = ReturnType<typeof createClientCertificates>;

/** Identifies a connection by both ends: its TCP socket and the TLS socket on top have the same. */
export const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  [remoteAddress, remotePort, localAddress, localPort].join(" ");

/** For a client that hung up before its address was read. */
const unknownTrust = -1;

export function createClientCertificates() {
  const seen = new WeakMap<Socket, { readonly shown: Shown; readonly trust: number }>();
  /** State of trust at the start of each connection: the handshake uses that, however late it ends. */
  const started = new Map<string, { readonly trust: number; readonly tcp: Socket }>();
  let trust = 0;
  return {
    /** To be called before a server listens: certificates are read at the handshake. */
    watch: (server: Server): void => {
      server.on("connection", (socket: Socket) => {
        const ends = endsOf(socket);
        started.set(ends, { trust, tcp: socket });
        socket.once("close", () => started.delete(ends));
      });
      server.on("secureConnection", (socket: TLSSocket) => {
        seen.set(socket, { shown: readCertificate(socket), trust: started.get(endsOf(socket))?.trust ?? unknownTrust });
      });
    },
    /** The connection below a handshake. */
    tcpOf: (socket: Socket): Socket | undefined => started.get(endsOf(socket))?.tcp,
    of: (socket: Socket): Shown => seen.get(socket)?.shown,
    /** Whether CAs or revocation lists have changed since its handshake. */
    isOutdated: (socket: Socket): boolean => (seen.get(socket)?.trust ?? trust) !== trust,
    outdate: (): void => {
      trust += 1;
    },
  };
}

export const verifiesAnew = (before: ServerTls | undefined, after: ServerTls): boolean =>
  before?.clients?.ca !== after.clients?.ca || before?.clients?.crl?.join() !== after.clients?.crl?.join();

/** Logs why client certificates are refused, which clients do not learn. */
export function logRefusals(server: Server, log: Logger): void {
  const refused = "client certificate refused";
  server.on("secureConnection", (socket: TLSSocket) => {
    const certificate = socket.authorized ? undefined : socket.getPeerX509Certificate();
    if (certificate === undefined) return;
    const { authorizationError: reason, remoteAddress: address } = socket;
    const { subject, fingerprint256 } = certificate;
    log.info({ reason, remote_address: address, subject, client_cert_sha256: sha256Of(fingerprint256) }, refused);
  });
  // Where a certificate is required, the connection and the certificate are gone by now.
  server.on("tlsClientError", (_, socket: TLSSocket) => {
    const { authorizationError: reason, remoteAddress: address } = socket;
    if (reason != null) log.info({ reason, remote_address: address ?? null }, refused);
  });
}

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
