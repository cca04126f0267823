import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterAll, describe, expect, it } from "vitest";
import { expectError } from "./support/error-answer.ts";
import type { RawConnection } from "./support/raw-socket.ts";
import { exchange, openRaw, rawConnection } from "./support/raw-socket.ts";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const live = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
const tunnel = "CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n";
const garbage = "\0\0\0\0\r\n\r\n";
const connectionsOf = async ({ url }: RunningService): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`, { headers: { Connection: "close" } })).text();
  return Number(/^svc_active_connections (\d+)$/m.exec(text)?.[1]);
};

describe("CONNECT", () => {
  it("is refused with an error body, and the connection ends", async () => {
    const service = await startService(workspace);
    const connection = openRaw(service.port);
    connection.send(tunnel);
    const [answer] = await connection.ended();
    expectError(answer, "UNAUTHORIZED");
    connection.close();
  });

  it("survives clients that reset the connection at once, or while they are answered", async () => {
    const service = await startService(workspace);
    for (let count = 0; count < 60; count += 1) {
      const connection = openRaw(service.port);
      connection.send(count % 3 === 0 ? tunnel + "x".repeat(count * 100) : tunnel);
      if (count % 2 === 0) await connection.answers(1);
      connection.socket.resetAndDestroy();
    }
    expect((await exchange(service.port, live))[0]?.status).toBe(200);
  });
});

describe("connections that the client leaves half open", () => {
  it.each([
    ["CONNECT", tunnel],
    ["garbage", garbage],
  ])("after %s they are given up by the service", async (_, data) => {
    const service = await startService(workspace);
    const connections: RawConnection[] = [];
    for (let count = 0; count < 20; count += 1) {
      const connection = openRaw(service.port);
      connection.send(data);
      connections.push(connection);
    }
    for (const connection of connections) await connection.ended();
    // The one that asks is open itself.
    await until("few open connections", async () => ((await connectionsOf(service)) <= 1 ? true : undefined));
    for (const connection of connections) connection.close();
  });

  it.each([
    ["CONNECT", tunnel],
    ["garbage", garbage],
  ])("after %s they do not keep the service from ending", async (_, data) => {
    const service = await startService(workspace);
    const connection = openRaw(service.port);
    connection.send(data);
    await connection.answers(1);
    service.kill("SIGTERM");
    await expect(service.exit).resolves.toEqual({ code: 0, signal: null });
    connection.close();
  });
});

describe("on an address with TLS", () => {
  it("plain HTTP, garbage and broken handshakes end the connection and nothing else", async () => {
    const service = await startService(workspace, { settings: "tls: auto\n" });
    const { port } = service;
    const hello = Buffer.from("16030100c8010000c40303", "hex");
    for (const data of [live, garbage, tunnel, hello, Buffer.alloc(100_000, 0x16)]) {
      const connection = openRaw(port);
      connection.send(data);
      if (data !== hello) await connection.ended();
      connection.socket.resetAndDestroy();
    }
    for (let count = 0; count < 20; count += 1) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => undefined);
      const secure = connectTls({ socket, rejectUnauthorized: false });
      secure.on("error", () => undefined);
      if (count % 2 === 0) secure.write(tunnel);
      await until("some bytes", () => (socket.bytesRead > 0 || socket.destroyed ? true : undefined));
      socket.resetAndDestroy();
    }
    const ca = readFileSync(join(service.stateDir, "tls-cert.pem"));
    const secure = rawConnection(connectTls({ port, host: "127.0.0.1", ca }));
    secure.send(live);
    expect((await secure.answers(1))[0]?.status).toBe(200);
    secure.close();
  });
});
