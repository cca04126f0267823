import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { closeCodes, type StreamClient, type StreamError, type StreamSession } from "#contract/streams.ts";
import { DomainError } from "#domain/common/error.ts";
import type { Logger } from "#telemetry/logger.ts";
import { createOutbox, encodeDroppedFrame, encodeErrorFrame } from "./outbox.ts";

export interface SessionPorts {
  readonly join: (frames: readonly Uint8Array[]) => Uint8Array | undefined;
  readonly onDropped: (count: number) => void;
  readonly log: Logger;
}

export type Session = ReturnType<typeof openSession>;

function toStreamError(error: unknown, log: Logger): StreamError {
  if (error instanceof DomainError) return { code: error.code, message: error.message, details: error.details };
  log.error({ err: error }, "stream message failed");
  return { code: "INTERNAL_ERROR", message: "cannot handle the message: internal error" };
}

const isOpen = (socket: WebSocket): boolean => socket.readyState === socket.OPEN;

/** Runs a stream over one WebSocket until it is closed. Frames are written straight to the connection below it. */
export function openSession(
  socket: WebSocket,
  connection: Duplex,
  attach: (session: StreamSession) => StreamClient,
  { join, onDropped, log }: SessionPorts,
) {
  let isAlive = true;
  let isEnded = false;
  let waiters: (() => void)[] = [];

  const outbox = createOutbox({
    sink: {
      write(bytes) {
        // RFC 6455 §5.5.1: nothing follows a close frame.
        if (isOpen(socket)) connection.write(bytes);
      },
      isFull: () => connection.writableNeedDrain,
    },
    join,
    encodeDropped: encodeDroppedFrame,
    onDropped,
  });

  const wake = (): void => {
    const woken = waiters;
    waiters = [];
    for (const resolve of woken) resolve();
  };

  const isCongested = (): boolean => !isEnded && (!isOpen(socket) || outbox.isCongested());

  const report = (error: StreamError): void => outbox.send([encodeErrorFrame(error)]);

  const client = attach({
    send: outbox.send,
    report,
    isCongested,
    drained: () => (isCongested() ? new Promise((resolve) => waiters.push(resolve)) : Promise.resolve()),
    close: (code, reason) => socket.close(code, reason),
  });

  const handle = (message: unknown): void => {
    try {
      client.receive(message);
    } catch (error) {
      report(toStreamError(error, log));
    }
  };

  socket.on("message", (data, isBinary) => {
    isAlive = true;
    if (!isOpen(socket)) return;
    if (isBinary || !Buffer.isBuffer(data)) {
      socket.close(closeCodes.invalidPayload, "binary message");
      return;
    }
    let message: unknown;
    try {
      message = JSON.parse(data.toString("utf8"));
    } catch {
      socket.close(closeCodes.invalidPayload, "message is not JSON");
      return;
    }
    handle(message);
  });
  socket.on("pong", () => {
    isAlive = true;
  });
  connection.on("drain", () => {
    // A client that reads is alive, even when its answer to a ping is delayed.
    isAlive = true;
    outbox.flush();
    if (!outbox.isCongested()) wake();
  });
  // A protocol violation: `ws` closes the connection with the right code.
  socket.on("error", (error) => log.debug({ err: error }, "stream connection failed"));
  socket.once("close", () => {
    isEnded = true;
    client.dispose();
    wake();
  });

  return {
    close: (code: number, reason: string): void => socket.close(code, reason),
    /** Pings the client; it is cut off when nothing has come since the last time. */
    probe() {
      if (!isAlive) return socket.terminate();
      isAlive = false;
      if (isOpen(socket)) socket.ping();
    },
  };
}
