import { createServer, type Socket } from "node:net";

export interface AnsweredRequest {
  readonly method: string;
  readonly url: string;
  /** Its API key. */
  readonly key: string | undefined;
}

/** A server that answers each request with bytes of its own, HTTP or not, and then hangs up. */
export interface AnsweringServer {
  readonly url: string;
  /** What the next requests are answered with, by their first line; the connection is reset where there is nothing. */
  answer: (request: AnsweredRequest) => string | Buffer | undefined;
  readonly close: () => void;
}

const headEnd = "\r\n\r\n";

/** An answer over HTTP with a body. */
export function httpAnswer(
  body: string,
  { status = "200 OK", headers = [] }: { readonly status?: string; readonly headers?: readonly string[] } = {},
): Buffer {
  const content = Buffer.from(body);
  const lines = [
    `HTTP/1.1 ${status}`,
    "Content-Type: application/json",
    `Content-Length: ${content.length}`,
    "Connection: close",
    ...headers,
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}${headEnd}`, "latin1"), content]);
}

export async function startAnsweringServer(): Promise<AnsweringServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    let text = "";
    let isAnswered = false;
    socket.setEncoding("latin1").on("data", (piece: string) => {
      text += piece;
      const end = text.indexOf(headEnd);
      if (isAnswered || end < 0) return;
      const length = Number(/^content-length: (\d+)/im.exec(text.slice(0, end))?.[1] ?? 0);
      if (text.length < end + headEnd.length + length) return;
      isAnswered = true;
      const [method = "", url = ""] = text.split(" ");
      const key = /^x-api-key: (\S+)/im.exec(text.slice(0, end))?.[1];
      const answer = result.answer({ method, url, key });
      if (answer === undefined) socket.resetAndDestroy();
      else socket.end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const result: AnsweringServer = {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    answer: () => undefined,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return result;
}
