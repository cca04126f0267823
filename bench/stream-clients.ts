import { request } from "node:http";
import type { Socket } from "node:net";
import { createFrameReader, createNumberReader } from "./stream-lines.ts";

/**
 * The clients of a stream, in a process of their own: `stream-clients.ts URL`, the key in STEWARD_API_KEY. Both sides get
 * the same ones. Its parent says what to open, and it reports again and again how far they are.
 */
const url = process.argv[2] ?? "";
const key = process.env["STEWARD_API_KEY"] ?? "";
const reportMs = 10;
const connectsAtOnce = 32;

/** What the parent asks. `next` is the number of the first line that the readers will get. */
export type ClientsRequest =
  | { readonly kind: "open"; readonly readers: number; readonly stalled: number; readonly next: number }
  | { readonly kind: "close" };

/** What the parent gets. */
export type ClientsReport =
  | { readonly kind: "done" }
  | {
      readonly kind: "progress";
      /** Number that the slowest reader waits for. */
      readonly slowest: number;
      /** Lines that did not come, or not in their order, and frames that are none. */
      readonly wrong: number;
      /** A frame as it came. */
      readonly sample: string;
    };

interface Reader {
  next: number;
}

const readers = new Set<Reader>();
const sockets = new Set<Socket>();
const numberOf = createNumberReader();
let wrong = 0;
let sample = "";

const report = (report: ClientsReport): void => void process.send?.(report);

/** An empty pong, masked with zeros. */
const pong = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

function read(socket: Socket, head: Buffer, next: number): void {
  const reader: Reader = { next };
  readers.add(reader);
  const take = createFrameReader({
    onText(bytes, start, end) {
      const number = numberOf(bytes, start, end);
      if (number !== reader.next) wrong += 1;
      if (number !== undefined) reader.next = number + 1;
      sample ||= bytes.toString("utf8", start, end);
    },
    onPing: () => void socket.write(pong),
  });
  take(head);
  socket.on("data", take);
  socket.once("close", () => {
    // One that is cut off has lost what comes.
    if (sockets.delete(socket)) wrong += 1;
    readers.delete(reader);
  });
}

function connect(): Promise<{ readonly socket: Socket; readonly head: Buffer }> {
  return new Promise((resolve, reject) => {
    const headers = {
      "X-API-Key": key,
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": Buffer.from("0123456789abcdef").toString("base64"),
    };
    const asked = request(url, { headers, agent: false });
    asked.once("upgrade", (_, socket: Socket, head) => {
      socket.on("error", () => undefined);
      sockets.add(socket);
      resolve({ socket, head });
    });
    asked.once("response", ({ statusCode }) => reject(new Error(`cannot open ${url}: HTTP ${statusCode}`)));
    asked.once("error", reject);
    asked.end();
  });
}

/** Opens so many, a few at a time. */
async function openMany(count: number, use: (connected: Awaited<ReturnType<typeof connect>>) => void): Promise<void> {
  let left = count;
  const work = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      use(await connect());
    }
  };
  await Promise.all(Array.from({ length: connectsAtOnce }, work));
}

async function handle(message: ClientsRequest): Promise<void> {
  if (message.kind === "close") {
    for (const socket of sockets) {
      sockets.delete(socket);
      socket.destroy();
    }
    readers.clear();
    [wrong, sample] = [0, ""];
  } else {
    // A client that stalls takes nothing from its connection, ever.
    await openMany(message.stalled, ({ socket }) => void socket.pause());
    for (const reader of readers) reader.next = message.next;
    await openMany(message.readers, ({ socket, head }) => read(socket, head, message.next));
  }
  report({ kind: "done" });
}

process.on("message", (message: ClientsRequest) => {
  handle(message).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
setInterval(() => {
  let slowest = Number.POSITIVE_INFINITY;
  for (const { next } of readers) slowest = Math.min(slowest, next);
  if (readers.size > 0) report({ kind: "progress", slowest, wrong, sample });
}, reportMs);
process.once("SIGTERM", () => process.exit(0));
