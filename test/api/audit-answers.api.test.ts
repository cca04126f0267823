import type { Socket } from "node:net";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { createFakePackageManager } from "../fakes/package-manager.ts";
import { createFakeSnapshotBackend } from "../fakes/snapshot-backend.ts";
import { createFakeUnits } from "../fakes/units.ts";
import { openRaw } from "../process/support/raw-socket.ts";
import { until } from "../process/support/until.ts";
import { anyShape, endings, names, removeAudited, sendAll, startAudited, ways } from "./audited.ts";

afterAll(removeAudited);

describe("the audit log verifies after", () => {
  it("any requests, on one connection and on several, also cut off by either side", async () => {
    const connection = fc.record({
      shapes: fc.array(anyShape, { minLength: 1, maxLength: 3 }),
      ending: fc.constantFrom(...names(endings)),
      way: fc.constantFrom(...ways),
    });
    const property = fc.asyncProperty(
      fc.array(connection, { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (each, isCut) => {
        const audited = await startAudited();
        const sent = Promise.all(each.map(({ shapes, ending, way }) => sendAll(audited, shapes, { ending, way })));
        // A shutdown in the middle, or after all of it.
        if (!isCut) await sent;
        await audited.close();
        await sent;
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  it("garbage, tunnels, endless headers, and requests that take too long", async () => {
    const audited = await startAudited();
    const { server } = audited.service.app;
    Object.assign(server, { headersTimeout: 1, requestTimeout: 1 });
    const checking = Object.getOwnPropertySymbols(server).find(({ description = "" }) => /Checking/.test(description));
    if (checking === undefined) throw new Error("Node keeps its check of connections elsewhere");
    /** What Node does every five seconds. */
    const checkConnections = (): void => (Reflect.get(server, checking) as { _onTimeout: () => void })._onTimeout();
    const head = "POST /api/v1/auth/tokens HTTP/1.1\r\nHost: localhost\r\n";
    const refused = [
      "NONSENSE\r\n\r\n",
      "\u0016\u0003\u0001\u0002\u0000\u0001\u0000",
      "CONNECT example.org:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
      `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
      "GET / HTTP/9.9\r\n\r\n",
    ];
    const slow = [
      "GET /liv",
      "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
      `${head}X-API-Key: ${audited.service.admin}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{`,
    ];
    const sockets: Socket[] = [];
    server.on("connection", (socket: Socket) => sockets.push(socket));
    const isRefused = async (text: string): Promise<void> => {
      const connection = openRaw(audited.port);
      connection.send(text);
      const answers = await connection.ended(30_000);
      expect({ text, statuses: answers.map(({ status }) => Math.floor(status / 100)) }).toEqual({
        text,
        statuses: [4],
      });
      connection.close();
    };
    await Promise.all(refused.map(isRefused));
    const own = (): readonly Socket[] => sockets.slice(refused.length);
    let isOver = false;
    const checkUntilOver = async (): Promise<void> => {
      // What arrives at a connection that has been ended would reset it, and its answer would be lost.
      await until("slow requests", () =>
        own().length === slow.length && own().every(({ bytesRead }) => bytesRead > 0) ? true : undefined,
      );
      while (!isOver) {
        checkConnections();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const ended = Promise.all(slow.map(isRefused)).finally(() => {
      isOver = true;
    });
    await Promise.all([ended, checkUntilOver()]);
    expect((await audited.verified()).entries).toBeGreaterThan(0);
    await audited.close();
  });

  it.each(["/%", `/api/v1/auth/keys/${"x".repeat(2_000)}`])(
    "requests of a trusted proxy, whose client it names: %s",
    async (path) => {
      const audited = await startAudited({ trustedProxies: ["127.0.0.1"] });
      await audited.service.app.inject({
        path,
        method: "DELETE",
        headers: { host: "localhost", "x-forwarded-for": "203.0.113.9" },
      });
      expect(await audited.list()).toMatchObject({ entries: [{ status: 401, remote_address: "203.0.113.9" }] });
      await audited.close();
    },
  );

  const tool = JSON.stringify({
    ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
    params: { name: "restartService", arguments: { name: "cron" } },
  });
  const toolHeaders = `Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n`;
  it.each([
    ["a mutation", "POST /api/v1/system/services/cron/restart", "\r\n"],
    ["a read that changes something", "GET /api/v1/updates/check?refresh=true", "\r\n"],
    ["a tool call", "POST /api/v1/mcp", `${toolHeaders}Content-Length: ${tool.length}\r\n\r\n${tool}`],
  ])("%s whose client has gone before it is done", async (_, line, rest) => {
    const { promise: started, resolve: begins } = Promise.withResolvers<void>();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const units = createFakeUnits([{ name: "cron.service" }]);
    const manager = createFakePackageManager([]);
    const held = async <T>(work: () => Promise<T>): Promise<T> => {
      begins();
      await over;
      return work();
    };
    const audited = await startAudited({
      units: { ...units, restart: (name, signal) => held(() => units.restart(name, signal)) },
      hostUpdates: () =>
        Promise.resolve({
          manager: {
            ...manager,
            lists: {
              ...manager.lists,
              refresh: (progress, signal) => held(() => manager.lists.refresh(progress, signal)),
            },
          },
          backend: createFakeSnapshotBackend(),
        }),
    });
    const closed = new Promise<unknown>((resolve) => {
      audited.service.app.server.once("connection", (socket: Socket) => socket.once("close", resolve));
    });
    const connection = openRaw(audited.port);
    connection.send(`${line} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${audited.service.admin}\r\n${rest}`);
    await started;
    connection.socket.resetAndDestroy();
    await closed;
    end();
    const entries = await until("its entry", async () => {
      const { entries: found } = await audited.list();
      return found.some(({ client_gone: isGone }) => isGone) ? found : undefined;
    });
    expect(entries).toMatchObject([{ client_gone: true, remote_address: "127.0.0.1" }]);
    await audited.close();
  });
});
