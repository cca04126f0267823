import { mayDo, untilSignedIn } from "../session.ts";
import { apiUrl, call, connected } from "./call.ts";
import { streams } from "./operations.generated.ts";

export interface StreamOptions {
  /** Read again for each connection, so that it can hold where to continue. */
  readonly query: () => Readonly<Record<string, string | undefined>>;
  readonly onFrame: (frame: unknown) => void;
  readonly onState?: (state: "open" | "waiting") => void;
}

export interface OpenStream {
  readonly send: (message: object) => void;
  readonly close: () => void;
}

const longestWaitMs = 30_000;

/**
 * Opens a stream of the service, and again whenever the connection is lost, until it is closed. One that the key may not read is not
 * asked for: the browser would log the refusal as an error.
 */
export function openStream(name: keyof typeof streams, options: StreamOptions): OpenStream {
  const { query, onFrame, onState } = options;
  const [path, scope] = streams[name];
  let socket: WebSocket | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;
  let waitMs = 500;

  const retry = (): void => {
    if (isClosed) return;
    onState?.("waiting");
    timer = setTimeout(() => void open(), waitMs);
    waitMs = Math.min(waitMs * 2, longestWaitMs);
  };
  const open = async (): Promise<void> => {
    try {
      await untilSignedIn();
      if (isClosed || mayDo(scope) !== "does") return;
      const { ticket } = await call("createTicket");
      if (isClosed) return;
      const url = new URL(path, apiUrl);
      url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
      url.searchParams.set("ticket", ticket);
      for (const [key, value] of Object.entries(query())) if (value) url.searchParams.set(key, value);
      socket = new WebSocket(url);
    } catch {
      return retry();
    }
    socket.onopen = () => {
      waitMs = 500;
      connected.value = true;
      onState?.("open");
    };
    socket.onmessage = ({ data }) => onFrame(JSON.parse(String(data)));
    socket.onclose = retry;
  };
  void open();
  return {
    send: (message) => {
      if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      socket?.close();
    },
  };
}
