import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { openConnection } from "./connection.ts";

/** A bus that lets clients in, and then answers nothing. */
async function silentBus() {
  const folder = mkdtempSync(join(tmpdir(), "steward-bus-"));
  const path = join(folder, "bus");
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("data", (data) => {
      if (data.includes("AUTH EXTERNAL")) socket.write(`OK ${"0123456789abcdef".repeat(2)}\r\n`);
      else if (data.includes("NEGOTIATE_UNIX_FD")) socket.write("ERROR\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    path,
    clients: () => sockets.size,
    close(): void {
      for (const socket of sockets) socket.destroy();
      server.close();
      rmSync(folder, { recursive: true });
    },
  };
}

it("is lost, and tries again, when the bus does not answer its first call", async () => {
  const bus = await silentBus();
  const reasons: string[] = [];
  const connection = openConnection({
    clock: systemClock,
    socket: bus.path,
    matchRules: [],
    listener: {
      onUp: () => Promise.reject(new Error("it is not up")),
      onDown: (reason) => void reasons.push(reason),
      onSignal: () => undefined,
    },
  });
  await expect.poll(() => reasons, { timeout: 60_000 }).toHaveLength(1);
  expect(reasons).toEqual([expect.stringContaining("No reply within 10000ms to org.freedesktop.DBus.Hello")]);
  await expect.poll(bus.clients).toBeGreaterThan(1);
  expect(connection.isUp()).toBe(false);
  connection.dispose();
  bus.close();
});
