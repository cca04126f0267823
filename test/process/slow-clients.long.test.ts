import { once } from "node:events";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectError } from "./support/error-answer.ts";
import type { RawAnswer, RawConnection } from "./support/raw-socket.ts";
import { exchange, openRaw } from "./support/raw-socket.ts";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
let service: RunningService;

beforeAll(async () => {
  service = await startService(workspace, { checks: true, environment: { STEWARD_RATE_LIMITS: "off" } });
});
afterAll(workspace.dispose);

// Node's own timers cut a request off after 30 s, and look every 5 s: nothing here can make them faster.
const hangMs = 120_000;

/** Sends one more byte every half second until the service has had enough. */
async function drip(connection: RawConnection, text: string, filler: string): Promise<readonly RawAnswer[]> {
  connection.send(text);
  const timer = setInterval(() => connection.send(filler), 500);
  try {
    return await connection.ended(hangMs);
  } finally {
    clearInterval(timer);
    connection.close();
  }
}

describe("clients that send too slowly", () => {
  it("are cut off with an error body, while others are served", async () => {
    const { port, adminKey } = service;
    const head = `POST /api/v1/auth/tokens HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${adminKey}\r\nContent-Type: application/json\r\n`;
    const slow = [
      ["slow request line", drip(openRaw(port), "GET /liv", "e")],
      ["slow headers", drip(openRaw(port), "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", "x")],
      ["slow body", drip(openRaw(port), `${head}Content-Length: 500000\r\n\r\n{`, " ")],
      ["slow chunks", drip(openRaw(port), `${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`, "1\r\n \r\n")],
    ] as const;
    const crowd = Array.from({ length: 200 }, () => drip(openRaw(port), "GET /", ""));

    const [quick] = await exchange(port, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(quick?.status).toBe(200);

    for (const [name, outcome] of slow) {
      const answers = await outcome;
      expect({ name, count: answers.length }).toEqual({ name, count: 1 });
      expect(expectError(answers[0], "VALIDATION_ERROR").details?.issue).toBe("Request took too long to arrive");
    }
    for (const answers of await Promise.all(crowd)) expectError(answers[0], "VALIDATION_ERROR");
  });

  it("that send nothing are cut off without an answer, which a browser would take for that of its next request", async () => {
    const secure = await startService(workspace, {
      settings: "tls: auto\nupdates: { enabled: false }\nconnectors: { discover: false }\n",
    });
    const overTls = connect({ host: "127.0.0.1", port: secure.port, rejectUnauthorized: false });
    const received: Buffer[] = [];
    overTls.on("data", (data: Buffer) => received.push(data));
    const closed = once(overTls, "close");
    expect(await openRaw(service.port).ended(hangMs)).toEqual([]);
    await closed;
    expect(Buffer.concat(received).toString()).toBe("");
  });
});
