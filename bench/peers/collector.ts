import { createServer } from "node:http";

/** A collector that takes every span and keeps none. */
const port = Number(process.argv[2]);

createServer((request, response) => {
  request.resume();
  request.on("end", () => response.end());
}).listen(port, "127.0.0.1");
