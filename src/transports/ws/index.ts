import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { Caller } from "#contract/operation.ts";
import type { StreamClient, StreamHandlers, StreamSession, streams } from "#contract/streams.ts";
import { closeCodes } from "#contract/streams.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { createJoiner } from "./outbox.ts";
import { openSession, type Session } from "./session.ts";

export { encodeTextFrame } from "./outbox.ts";

const maxSessions = 2048;
const maxSessionsPerKey = 1024;
const maxMessageBytes = 64 * 1024;
const closeTimeoutMs = 2_000;
const tickMs = 1_000;
const ticksPerPing = 30;

export interface StreamServerPorts {
  readonly handlers: StreamHandlers<typeof streams>;
  readonly clock: Pick<Clock, "now" | "every">;
  readonly metrics: Pick<Metrics, "streamClients" | "streamDropped">;
  readonly log: Logger;
  readonly onRevoked: (listener: (keyId: string) => void) => Dispose;
  readonly isRevoked: (keyId: string) => boolean;
  readonly sessions: {
    readonly onEnded: (listener: (id: string) => void) => Dispose;
    readonly hasEnded: (caller: Caller) => boolean;
  };
  /** Whether the client certificate of a connection must be verified again. */
  readonly isOutdated: (connection: Socket) => boolean;
}

export interface StreamRequest {
  readonly caller: Caller | undefined;
  readonly query: object;
  readonly headers: IncomingHttpHeaders;
}

/** Makes a WebSocket of a connection. @param lines header lines for the answer to the handshake. */
type TakeOver = (request: IncomingMessage, connection: Duplex, head: Buffer, lines: readonly string[]) => void;

/** A handler as it is looked up; its query has been checked by its row. */
interface AnyOpener {
  call(query: object, caller: Caller): (session: StreamSession) => StreamClient;
}
type AnyOpeners = Readonly<Record<string, AnyOpener["call"]>>;

interface Held {
  readonly session: Session;
  readonly caller: Caller;
}

type Closing = readonly [code: number, reason: string];

const stopping: Closing = [closeCodes.goingAway, "service is stopping"];
const verifiedAnew: Closing = [closeCodes.goingAway, "certificates are being verified again"];

const sessionEnded: Closing = [closeCodes.keyEnded, "session ended"];

const protocolToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Checks a handshake by RFC 6455 §4.2.1. @throws DomainError VALIDATION_ERROR with the header as its field. */
function checkHandshake(headers: IncomingHttpHeaders): void {
  if (headers["sec-websocket-version"] !== "13") throw invalid("Sec-WebSocket-Version", "Must be 13");
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")) {
    throw invalid("Sec-WebSocket-Key", "Must be 16 bytes in base64");
  }
  const names = headers["sec-websocket-protocol"]?.split(",").map((name) => name.trim()) ?? [];
  if (names.some((name) => !protocolToken.test(name)) || new Set(names).size < names.length) {
    throw invalid("Sec-WebSocket-Protocol", "Must be a list of different names");
  }
}

const serverOptions = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  // One message in a turn of the event loop: a burst of one client must not delay others.
  allowSynchronousEvents: false,
  maxPayload: maxMessageBytes,
  closeTimeout: closeTimeoutMs,
  handleProtocols: () => false as const,
};

/** Open sessions, counted by stream and key. While there are any, keys and clients are checked. */
function createSessions({ clock, metrics, sessions }: Pick<StreamServerPorts, "clock" | "metrics" | "sessions">) {
  const held = new Set<Held>();
  const perKey = new Map<string, number>();
  const perStream = new Map<string, number>();
  let stopTicks: Dispose | undefined;
  let ticks = 0;

  const tick = (): void => {
    ticks += 1;
    const now = clock.now();
    for (const { session, caller } of held) {
      if (caller.session !== undefined && sessions.hasEnded(caller)) session.close(...sessionEnded);
      else if (caller.expiresAt !== null && caller.expiresAt <= now) session.close(closeCodes.keyEnded, "key expired");
      if (ticks % ticksPerPing === 0) session.probe();
    }
  };

  const count = (counts: Map<string, number>, name: string, change: 1 | -1): number => {
    const next = (counts.get(name) ?? 0) + change;
    if (next === 0) counts.delete(name);
    else counts.set(name, next);
    return next;
  };

  return {
    add: (stream: string, one: Held): void => {
      held.add(one);
      count(perKey, one.caller.keyId, 1);
      metrics.streamClients(stream, count(perStream, stream, 1));
      stopTicks ??= clock.every(tickMs, tick);
    },
    remove: (stream: string, one: Held): void => {
      held.delete(one);
      count(perKey, one.caller.keyId, -1);
      metrics.streamClients(stream, count(perStream, stream, -1));
      if (held.size > 0) return;
      stopTicks?.();
      stopTicks = undefined;
    },
    close: (isMeant: (caller: Caller) => boolean, closing: Closing): void => {
      for (const { session, caller } of held) if (isMeant(caller)) session.close(...closing);
    },
    refusal: (keyId: string): Closing | undefined => {
      if (held.size >= maxSessions) return [closeCodes.overload, "too many connections"];
      if ((perKey.get(keyId) ?? 0) >= maxSessionsPerKey)
        return [closeCodes.overload, "too many connections of this key"];
      return undefined;
    },
  };
}

export function createStreamServer(ports: StreamServerPorts) {
  const { handlers, metrics, log, onRevoked, isRevoked, isOutdated, sessions: logins } = ports;
  const openers: AnyOpeners = handlers;
  const join = createJoiner();
  const sessions = createSessions(ports);
  let isClosing = false;

  const sockets = new WebSocketServer(serverOptions);

  const stopListening = onRevoked((keyId) =>
    sessions.close((caller) => caller.keyId === keyId, [closeCodes.keyEnded, "key revoked"]),
  );

  const stopWatching = logins.onEnded((id) => sessions.close(({ session }) => session?.id === id, sessionEnded));

  /** Why an admitted connection is closed at once: its rights have changed meanwhile. */
  const refusal = (caller: Caller, connection: Socket): Closing | undefined => {
    const { keyId, credential } = caller;
    if (isClosing) return stopping;
    if (logins.hasEnded(caller)) return sessionEnded;
    if (credential !== "socket" && isRevoked(keyId)) return [closeCodes.keyEnded, "key revoked"];
    // HTTP gives such a connection one more answer; a stream would not end.
    if (credential === "certificate" && isOutdated(connection)) return verifiedAnew;
    return sessions.refusal(keyId);
  };

  return {
    /** @throws DomainError to refuse before the upgrade. */
    accept: (stream: string, { caller, query, headers }: StreamRequest): TakeOver => {
      const opener = openers[stream];
      if (opener === undefined || caller === undefined) throw new DomainError("NOT_FOUND", "cannot find this stream");
      if (headers.upgrade?.toLowerCase() === "websocket") checkHandshake(headers);
      const attach = opener(query, caller);
      return (request, connection, head, lines) => {
        const addLines = (answer: string[]): void => void answer.push(...lines);
        sockets.on("headers", addLines);
        sockets.handleUpgrade(request, connection, head, (socket) => {
          const refused = refusal(caller, request.socket);
          if (refused !== undefined) {
            socket.on("error", (error) => log.debug({ err: error }, "stream connection failed"));
            socket.close(...refused);
            return;
          }
          const onDropped = (frames: number): void => metrics.streamDropped(stream, frames);
          const session = openSession(socket, connection, attach, { join, onDropped, log });
          const one = { session, caller };
          sessions.add(stream, one);
          socket.once("close", () => sessions.remove(stream, one));
        });
        // The handshake has been answered synchronously.
        sockets.off("headers", addLines);
      };
    },
    /** Closes clients that were admitted by a certificate, so that they connect again. */
    endCertified: (): void => sessions.close(({ credential }) => credential === "certificate", verifiedAnew),
    close: (): void => {
      isClosing = true;
      stopListening();
      stopWatching();
      sessions.close(() => true, stopping);
    },
  };
}
