import type { Duplex } from "node:stream";

export const maxRequestBytes = 4 * 1024 * 1024;
export const maxAnswerBytes = 32 * 1024 * 1024;

export interface RootRequest {
  readonly id: string;
  readonly task: string;
  readonly input: unknown;
}

/** Root sends `{ progress }`, where the task has some, then `{ output }` or `{ error }`. An error keeps its kind. */
export interface WireError {
  readonly kind: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Sent by the service when root may do what its progress has announced. */
export const proceed = { proceed: true } as const;

const newline = 10;

/** Messages as lines of JSON. @throws Error for a line that is invalid, too long, or cut off. */
export async function* readMessages(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<unknown, undefined> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length > maxBytes) throw new Error(`message longer than ${maxBytes} bytes`);
    parts.push(part);
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      const line = Buffer.concat(parts).toString("utf8");
      parts = [];
      length = 0;
      start = end + 1;
      yield parsed(line);
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
  if (length > 0) throw new Error("connection closed in the middle of a message");
  return undefined;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new Error("expected a line of JSON", { cause: error });
  }
}

export const encodeMessage = (message: unknown): string => `${JSON.stringify(message)}\n`;

/** Sends a message; whether the other side still reads shows in what it sends. */
export const sendMessage = (connection: Duplex, message: unknown): void =>
  void (connection.writable && connection.write(encodeMessage(message)));
