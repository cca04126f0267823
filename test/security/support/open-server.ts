import { createServer, type IncomingHttpHeaders } from "node:http";

/** A request as it arrived. */
export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server that refuses nothing: what arrives at it is what a browser sends. */
export interface OpenServer {
  readonly port: number;
  readonly arrived: readonly Arrived[];
  /** What is answered from now on to a path: markup, with these headers. */
  readonly serve: (path: string, markup: string, headers?: Readonly<Record<string, string>>) => void;
  readonly close: () => void;
}

/** Starts it on 127.0.0.1. It permits every page to read its answers, with cookies and every header. */
export async function startOpenServer(): Promise<OpenServer> {
  const arrived: Arrived[] = [];
  const pages = new Map<string, readonly [string, Readonly<Record<string, string>>]>();
  const server = createServer((request, response) => {
    const { method = "", url: path = "", headers } = request;
    const { origin, "access-control-request-headers": wanted } = headers;
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    request.on("end", () => {
      arrived.push({ method, path, headers, body });
      const [markup, more] = pages.get(path) ?? ["<!doctype html><title>open</title>", {}];
      response.writeHead(200, {
        "Content-Type": "text/html",
        ...(origin !== undefined && {
          "Access-Control-Allow-Origin": origin,
          "Access-Control-Allow-Credentials": "true",
          "Access-Control-Allow-Headers": wanted ?? "",
        }),
        ...more,
      });
      response.end(markup);
    });
  });
  server.on("upgrade", ({ url: path = "", headers }, socket) => {
    arrived.push({ method: "UPGRADE", path, headers, body: "" });
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    arrived,
    serve: (path, markup, headers = {}) => void pages.set(path, [markup, headers]),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
