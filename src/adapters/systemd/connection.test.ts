import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { openConnection } from "./connection.ts";

afterEach(() => void vi.useRealTimers());

/** A bus that admits clients, and then answers nothing. */
async function silentBus() {
  const directory = mkdtempSync(join(tmpdir(), "steward-bus-"));
  const path = join(directory, "bus");
  const sockets = new Set<Socket>();
  let hellos = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("data", (data) => {
      if (data.includes("AUTH EXTERNAL")) socket.write(`OK ${"0123456789abcdef".repeat(2)}\r\n`);
      else if (data.includes("NEGOTIATE_UNIX_FD")) socket.write("ERROR\r\n");
      if (data.includes("Hello")) hellos += 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    path,
    /** How many clients have made their first call. */
    hellos: () => hellos,
    close(): void {
      for (const socket of sockets) socket.destroy();
      server.close();
      rmSync(directory, { recursive: true });
    },
  };
}

it("a connection to a bus that does not answer its first call ends after 10 s, and is tried again", async () => {
  const bus = await silentBus();
  // The timers of the library; what goes over the socket takes its real time.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const clock = createFakeClock();
  const reasons: string[] = [];
  const connection = openConnection({
    clock,
    socket: bus.path,
    matchRules: [],
    listener: {
      onUp: () => Promise.reject(new Error("it is not up")),
      onDown: (reason) => void reasons.push(reason),
      onSignal: () => undefined,
    },
  });
  await expect.poll(bus.hellos).toBe(1);
  vi.advanceTimersByTime(10_000);
  await expect.poll(() => reasons).toHaveLength(1);
  expect(reasons).toEqual([expect.stringContaining("No reply within 10000ms to org.freedesktop.DBus.Hello")]);
  await expect.poll(() => clock.isSleptBy()).toBe(true);
  await clock.advance(2_000);
  await expect.poll(bus.hellos).toBe(2);
  expect(connection.isUp()).toBe(false);
  connection.dispose();
  bus.close();
});
