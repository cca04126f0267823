import { connect, createServer, type Socket } from "node:net";
import { argv } from "node:process";

/** A link in front of a server on loopback, as a relay: every kernel has it, unlike netem. Arguments: its port, the server's. */
const [, , ownPort, serverPort] = argv;

const bitsPerSecond = 10_000_000;
/** In each direction. */
const delayMs = 10;
/** What waits on the link before its sender has to. */
const aheadBytes = 256 * 1024;

/** Passes on what one side sends, each byte when it would have arrived. */
function carry(from: Socket, to: Socket): void {
  let freeAtMs = 0;
  let ahead = 0;
  from.on("data", (bytes: Buffer) => {
    freeAtMs = Math.max(freeAtMs, performance.now()) + (bytes.length * 8 * 1000) / bitsPerSecond;
    ahead += bytes.length;
    if (ahead >= aheadBytes) from.pause();
    setTimeout(
      () => {
        ahead -= bytes.length;
        if (ahead < aheadBytes) from.resume();
        to.write(bytes);
      },
      freeAtMs + delayMs - performance.now(),
    );
  });
  from.on("end", () => setTimeout(() => to.end(), Math.max(0, freeAtMs - performance.now()) + delayMs));
  from.on("error", () => to.destroy());
  from.on("close", () => setTimeout(() => to.destroy(), delayMs * 10));
}

createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
  const server = connect({ host: "127.0.0.1", port: Number(serverPort), noDelay: true, allowHalfOpen: true });
  carry(client, server);
  carry(server, client);
}).listen(Number(ownPort), "127.0.0.1");
