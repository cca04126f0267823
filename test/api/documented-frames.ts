import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import * as ws from "ws";
import { at, createSchemaCheck, type Json, parsed } from "./document-schemas.ts";

/** A text message of a stream. */
export interface LiveFrame {
  /** Path of the stream. */
  readonly endpoint: string | undefined;
  /** From the side of the service, as the document has it. */
  readonly action: "send" | "receive";
  readonly text: string;
  /** Whether the service answered a message of the client with an error frame, or by closing the stream. */
  readonly isRefused?: boolean;
}

interface Payload {
  readonly payload: Json;
}

/** Compares frames with the messages of an AsyncAPI document. */
export function createFrameCheck(document: Json): (frame: LiveFrame) => readonly string[] {
  const faultOf = createSchemaCheck(document);
  const resolve = (value: unknown): unknown => {
    const reference = at(value, "$ref");
    if (typeof reference !== "string") return value;
    return resolve(reference.slice(2).split("/").reduce<unknown>(at, document));
  };
  const operations = Object.values(document["operations"] ?? {});

  /** The payloads of a stream in one direction; undefined for a stream that is not in the document. */
  function payloadsOf({ endpoint, action }: LiveFrame): readonly Json[] | undefined {
    const channels = Object.values(document["channels"] ?? {});
    const channel = channels.find((each) => at(each, "address") === endpoint);
    if (channel === undefined) return undefined;
    const operation = operations.find(
      (each) => at(each, "action") === action && resolve(at(each, "channel")) === channel,
    );
    const messages = (at(operation, "messages") ?? []) as readonly unknown[];
    return messages.map((message) => (resolve(message) as Payload).payload);
  }

  return (frame) => {
    const { endpoint, action, text, isRefused = false } = frame;
    const payloads = payloadsOf(frame);
    if (payloads === undefined) return [`${endpoint ?? "unknown path"}: the stream is not in the document`];
    const faults = payloads.map((payload) => faultOf(payload, parsed(text)));
    const isDescribed = faults.includes(undefined);
    if (isDescribed || isRefused) return [];
    const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
    const which = action === "send" ? "a frame" : "a message that was taken";
    return [`${endpoint ?? ""}: ${which} is not in the document: ${shown}: ${faults.join("; ") || "none is declared"}`];
  };
}

interface ReceiverOptions {
  readonly isServer: boolean;
  readonly allowSynchronousEvents?: boolean;
}
type ReceiverOf = new (options: ReceiverOptions) => Writable;
/** What reads a connection in `ws`; not in its types. */
const { Receiver } = ws as unknown as { readonly Receiver: ReceiverOf };

/** Calls `read` with each text message of the bytes that are written to what it returns. */
function createReader(options: ReceiverOptions, read: (text: string) => void): Writable {
  const receiver = new Receiver(options);
  receiver.on("message", (data: Buffer, isBinary: boolean) => void (isBinary || read(data.toString("utf8"))));
  // The service sees the same fault, and closes the connection.
  receiver.on("error", () => undefined);
  return receiver;
}

const isError = (text: string): boolean => at(parsed(text), "type") === "error";

/** Calls `seen` with each text message in both directions over a connection whose handshake is being answered. */
export function watchFrames(socket: Socket, endpoint: string | undefined, seen: (frame: LiveFrame) => void): void {
  let errors = 0;
  const sent = createReader({ isServer: false }, (text) => {
    if (isError(text)) errors += 1;
    seen({ endpoint, action: "send", text });
  });
  let isClosed = false;
  sent.on("conclude", () => {
    isClosed = true;
  });
  const write = socket.write.bind(socket);
  socket.write = (...args: readonly unknown[]) => {
    const [chunk] = args;
    // A copy: anyone who writes may use the memory again.
    if (chunk instanceof Uint8Array && sent.writable) sent.write(Buffer.from(chunk));
    return Reflect.apply(write, socket, args);
  };
  // At the pace of the service, which handles a message behind this in the same turn of the event loop.
  const received = createReader({ isServer: true, allowSynchronousEvents: false }, (text) => {
    const before = errors;
    const canAnswer = !isClosed && !socket.writableNeedDrain;
    setImmediate(() => {
      const hasEnded = isClosed || socket.destroyed || !canAnswer;
      seen({ endpoint, action: "receive", text, isRefused: hasEnded || errors > before });
    });
  });
  // A copy: masks are removed in place.
  socket.on("data", (chunk: Buffer) => void (received.writable && received.write(Buffer.from(chunk))));
}
