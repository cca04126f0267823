import type { Socket } from "node:net";
import { connect } from "node:net";
import type { TLSSocket } from "node:tls";
import { until } from "./until.ts";

/** One HTTP answer as it came off the wire. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name; the last one where a name is repeated. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The bytes of a chunked body and what follows it; undefined when it is incomplete. */
function readChunks(bytes: string): { body: string; rest: string } | undefined {
  let body = "";
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.slice(at, lineEnd), 16);
    const start = lineEnd + 2;
    if (bytes.length < start + size + 2) return undefined;
    body += bytes.slice(start, start + size);
    at = start + size + 2;
    if (size === 0) return { body, rest: bytes.slice(at) };
  }
}

/** Takes the first answer off; undefined when it is incomplete. `bytes` has one character for each byte. */
function readAnswer(bytes: string, hasBody: boolean): { answer: RawAnswer; rest: string } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [statusLine = "", ...lines] = bytes.slice(0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`not an HTTP answer: ${statusLine}`);
  const headers = Object.fromEntries(
    lines.map((line) => {
      const cut = line.indexOf(":");
      return [line.slice(0, cut).toLowerCase(), line.slice(cut + 1).trim()];
    }),
  );
  const after = bytes.slice(headEnd + 4);
  const done = (body: string, rest: string) => ({
    answer: { status, headers, body: Buffer.from(body, "latin1").toString("utf8") },
    rest,
  });
  if (status < 200 || status === 204 || !hasBody) return done("", after);
  if (headers["transfer-encoding"] === "chunked") {
    const chunks = readChunks(after);
    return chunks && done(chunks.body, chunks.rest);
  }
  const length = Number(headers["content-length"] ?? 0);
  return after.length < length ? undefined : done(after.slice(0, length), after.slice(length));
}

/** All whole answers in what was received. */
function readAnswers(received: string, hasBody: boolean): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = received;
  for (;;) {
    const next = readAnswer(rest, hasBody);
    if (next === undefined) return answers;
    answers.push(next.answer);
    rest = next.rest;
  }
}

/** A connection on which a test says exactly what it wants. */
export interface RawConnection {
  readonly socket: Socket;
  readonly send: (data: string | Buffer) => void;
  /** Waits for so many whole answers, interim ones included. Fewer when the connection ends before. */
  readonly answers: (count: number, timeoutMs?: number) => Promise<readonly RawAnswer[]>;
  /** Waits until the other side has ended the connection. */
  readonly ended: (timeoutMs?: number) => Promise<readonly RawAnswer[]>;
  readonly isEnded: () => boolean;
  readonly close: () => void;
}

/** Wraps a socket that is connecting or connected. `isHead`: answers have no body. */
export function rawConnection(socket: Socket | TLSSocket, { isHead = false } = {}): RawConnection {
  let received = "";
  let isEnded = false;
  const end = (): void => {
    isEnded = true;
  };
  socket.setEncoding("latin1");
  socket.on("data", (text) => {
    received += String(text);
  });
  socket.on("end", end);
  socket.on("close", end);
  // A connection that the service cuts is an outcome, not a failure of the test.
  socket.on("error", end);
  return {
    socket,
    send: (data) => void (socket.writable && socket.write(data)),
    answers: (count, timeoutMs) =>
      until(
        `${count} answers`,
        () => {
          const answers = readAnswers(received, !isHead);
          return answers.length >= count || isEnded ? answers : undefined;
        },
        timeoutMs,
      ),
    ended: (timeoutMs) =>
      until("end of the connection", () => (isEnded ? readAnswers(received, !isHead) : undefined), timeoutMs),
    isEnded: () => isEnded,
    close: () => socket.destroy(),
  };
}

/** Connects over plain TCP, half-open allowed: the service's end of the stream does not end ours. */
export const openRaw = (port: number, options: { isHead?: boolean; localAddress?: string } = {}): RawConnection => {
  const { localAddress } = options;
  const address = { host: "127.0.0.1", port, allowHalfOpen: true, ...(localAddress && { localAddress }) };
  return rawConnection(connect(address), options);
};

/**
 * Sends bytes on a connection of their own and reads so many answers.
 * @returns the answers; empty when the service ended the connection without one.
 */
export async function exchange(
  port: number,
  data: string | Buffer,
  options: { answers?: number; isHead?: boolean; localAddress?: string } = {},
): Promise<readonly RawAnswer[]> {
  const connection = openRaw(port, options);
  try {
    connection.send(data);
    return await connection.answers(options.answers ?? 1);
  } finally {
    connection.close();
  }
}
