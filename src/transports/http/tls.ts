import { constants } from "node:crypto";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { type SecureContextOptions, type TLSSocket, Server as TlsServer } from "node:tls";
import type { ClientCertificate } from "#domain/ports/access.ts";
import type { Logger } from "#telemetry/logger.ts";

/** What the service proves itself with, and whom it asks for a certificate; all of it PEM. */
export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  /** Undefined where clients are not asked for certificates. */
  readonly clients?:
    | {
        /** Who may sign them. */
        readonly ca: string;
        /** Which of them are revoked: a list of each CA. */
        readonly crl?: readonly string[] | undefined;
        /** Whether a client without one is refused at the handshake. */
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
 * Without tickets no session is taken up again: each handshake verifies the client's certificate anew, and there is no ticket
 * key that would have to be changed. Who a client is does not change on an open connection, so there is no renegotiation.
 */
const secureOptions = constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION;

/** What handshakes are made with from now on. */
export const contextOptions = ({ cert, key, clients }: ServerTls): SecureContextOptions => ({
  cert,
  key,
  ...(clients && { ca: clients.ca, ...(clients.crl !== undefined && { crl: [...clients.crl] }) }),
  minVersion: "TLSv1.2",
  ciphers,
  // All of them are good: the client knows which is fast where it runs.
  honorCipherOrder: false,
  secureOptions,
});

/** What is said once, when the server is made. */
export const handshakeOptions = ({ clients }: ServerTls) => ({
  requestCert: clients !== undefined,
  rejectUnauthorized: clients?.isRequired ?? false,
  ALPNProtocols: ["http/1.1"],
});

/** Has new handshakes made with another pair; open connections go on as they are. */
export function replaceContext(servers: Iterable<Server>, tls: ServerTls): void {
  for (const server of servers) if (server instanceof TlsServer) server.setSecureContext(contextOptions(tls));
}

const sha256Of = (fingerprint: string): string => fingerprint.replaceAll(":", "").toLowerCase();

/** The certificate of a client: undefined when it has shown none, "refused" when it is not to be believed. */
export type Shown = ClientCertificate | "refused" | undefined;

function look(socket: TLSSocket): Shown {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  if (!socket.authorized) return "refused";
  return { sha256: sha256Of(certificate.fingerprint256), validTo: certificate.validToDate.getTime() };
}

export interface ClientCertificates {
  /** Has to be told of a server before it listens: by whom a connection was made is found out at its handshake. */
  readonly watch: (server: Server) => void;
  /** Who a connection was made by; nothing that a request says changes it. */
  readonly of: (socket: Socket) => Shown;
  /** Whether what it was verified with has changed since: another handshake has to show that it is still good. */
  readonly isOutdated: (socket: Socket) => boolean;
  /** What certificates are verified with has changed. */
  readonly outdate: () => void;
}

/** The two ends of a connection, by which its TCP socket and the TLS socket above it are known to be one. */
export const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  [remoteAddress, remotePort, localAddress, localPort].join(" ");

/** For a client that hung up before anybody could look at its address. */
const unknownTrust = -1;

/** The certificates that connections were made with. */
export function createClientCertificates(): ClientCertificates {
  const seen = new WeakMap<Socket, { readonly shown: Shown; readonly trust: number }>();
  /** What connections were begun with: their handshakes verify by that, however much later they end. */
  const begun = new Map<string, number>();
  let trust = 0;
  return {
    watch(server) {
      server.on("connection", (socket: Socket) => {
        const ends = endsOf(socket);
        begun.set(ends, trust);
        socket.once("close", () => begun.delete(ends));
      });
      server.on("secureConnection", (socket: TLSSocket) => {
        seen.set(socket, { shown: look(socket), trust: begun.get(endsOf(socket)) ?? unknownTrust });
      });
    },
    of: (socket) => seen.get(socket)?.shown,
    isOutdated: (socket) => (seen.get(socket)?.trust ?? trust) !== trust,
    outdate() {
      trust += 1;
    },
  };
}

/** Whether the two verify certificates of clients with something else. */
export const verifiesAnew = (before: ServerTls | undefined, after: ServerTls): boolean =>
  before?.clients?.ca !== after.clients?.ca || before?.clients?.crl?.join() !== after.clients?.crl?.join();

/** Says in the log why a client's certificate was refused: the client itself is not told. */
export function logRefusals(server: Server, log: Logger): void {
  const refused = "client certificate refused";
  server.on("secureConnection", (socket: TLSSocket) => {
    const certificate = socket.authorized ? undefined : socket.getPeerX509Certificate();
    if (certificate === undefined) return;
    const { authorizationError: reason, remoteAddress: address } = socket;
    const { subject, fingerprint256 } = certificate;
    log.info({ reason, remote_address: address, subject, client_cert_sha256: sha256Of(fingerprint256) }, refused);
  });
  // Where one is required the connection is gone by now, and the certificate with it.
  server.on("tlsClientError", (_, socket: TLSSocket) => {
    const { authorizationError: reason, remoteAddress: address } = socket;
    if (reason != null) log.info({ reason, remote_address: address ?? null }, refused);
  });
}
