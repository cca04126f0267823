import { WebSocket } from "ws";
import { asyncapiDocument } from "#transports/http/asyncapi.ts";
import { createFrameCheck } from "../../api/documented-frames.ts";

export type Frame = Readonly<Record<string, unknown>>;

/** A connection to a stream, with everything that came over it. */
export interface StreamConnection {
  readonly socket: WebSocket;
  readonly frames: readonly Frame[];
  /** The first so many frames, once they are there. */
  readonly first: (count: number) => Promise<readonly Frame[]>;
  /** All frames, once the newest of them is the entry with this message. */
  readonly last: (message: string) => Promise<readonly Frame[]>;
  /** Sends a message as JSON. */
  readonly send: (message: unknown) => void;
  /** Resolves when all that was sent has been handled: messages are, one after the other, and a bad one is answered. */
  readonly handled: () => Promise<void>;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

export interface StreamOptions {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Certificate to trust, PEM. */
  readonly ca?: string;
  /** Certificate and key of the client, PEM. */
  readonly client?: { readonly cert: string; readonly key: string };
  /** Whether pings are answered; they are unless said. */
  readonly autoPong?: boolean;
}

const checkFrame = createFrameCheck(asyncapiDocument("1.2.3"));

const addressOf = (url: string, path: string, query: Readonly<Record<string, string>> = {}): string =>
  `${url.replace(/^http/, "ws")}${path}?${new URLSearchParams(query).toString()}`;

const isTypeError = ({ error }: Frame): boolean => JSON.stringify(error)?.includes('"field":"type"') ?? false;

/**
 * Opens a stream. What waits for frames fails at one that the AsyncAPI document does not describe.
 * @throws Error when the stream is refused.
 */
export async function openStream(url: string, path: string, options: StreamOptions = {}): Promise<StreamConnection> {
  const { query, headers = {}, ca, client, autoPong = true } = options;
  const tls = { ...(ca !== undefined && { ca }), ...client };
  const socket = new WebSocket(addressOf(url, path, query), { headers, autoPong, ...tls });
  const frames: Frame[] = [];
  const faults: string[] = [];
  let unanswered = 0;
  const waiting = new Set<() => void>();
  const until = async (what: string, isSo: () => boolean): Promise<void> => {
    const timeout = AbortSignal.timeout(110_000);
    while (!isSo()) {
      if (faults.length > 0) throw new Error(faults.join("\n"));
      await new Promise<void>((resolve, reject) => {
        const fail = () =>
          reject(
            new Error(`${what} did not come; the last of ${frames.length} frames: ${JSON.stringify(frames.at(-1))}`),
          );
        timeout.addEventListener("abort", fail, { once: true });
        waiting.add(() => {
          timeout.removeEventListener("abort", fail);
          resolve();
        });
      });
    }
  };
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  socket.on("message", (data, isBinary) => {
    const text = isBinary || !Buffer.isBuffer(data) ? "null" : data.toString();
    faults.push(...checkFrame({ endpoint: path, action: "send", text }));
    const frame = JSON.parse(text) as Frame;
    if (unanswered > 0 && isTypeError(frame)) unanswered -= 1;
    else frames.push(frame);
    for (const resume of waiting) resume();
    waiting.clear();
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => undefined);
  const send = (message: unknown): void => socket.send(JSON.stringify(message));
  return {
    socket,
    frames,
    async first(count) {
      await until(`frame ${count}`, () => frames.length >= count);
      return frames.slice(0, count);
    },
    async last(message) {
      await until(`the entry ${message}`, () => frames.at(-1)?.["message"] === message);
      return frames;
    },
    send,
    async handled() {
      unanswered += 1;
      send({ type: "is anybody there" });
      await until("the answer to a message", () => unanswered === 0);
    },
    closed,
  };
}

/** The answer to an upgrade that is refused. */
export function refusedStream(
  url: string,
  path: string,
  { query, headers = {}, ca }: StreamOptions = {},
): Promise<{ status: number; headers: Readonly<Record<string, string | string[] | undefined>>; body: unknown }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(addressOf(url, path, query), { headers, ...(ca !== undefined && { ca }) });
    socket.once("open", () => {
      socket.terminate();
      reject(new Error("the upgrade was not refused"));
    });
    socket.once("error", reject);
    socket.once("unexpected-response", (_, response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => {
        socket.removeAllListeners("error");
        socket.on("error", () => undefined);
        socket.terminate();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) });
      });
    });
  });
}
