import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { WebSocketServer } from "ws";

/** The least that sends every line that it reads to every client: what the manual of `ws` shows, without compression. */
const port = Number(process.argv[2]);

const http = createServer((_, response) => response.end("ok"));
const sockets = new WebSocketServer({ server: http, perMessageDeflate: false });

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = Buffer.from(line);
  for (const client of sockets.clients) {
    if (client.readyState === client.OPEN) client.send(message, { binary: false });
  }
});
process.once("SIGTERM", () => process.exit(0));
http.listen({ host: "127.0.0.1", port });
