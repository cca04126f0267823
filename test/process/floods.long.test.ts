import { readdirSync } from "node:fs";
import { Agent, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, describe, expect, it } from "vitest";
import { connectionLimits } from "#transports/http/connections.ts";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const environment = { STEWARD_RATE_LIMITS: "off" };
const openFiles = 700;
/** As many as one address may have, this machine among them. */
const { perAddress } = connectionLimits(openFiles).tcp;

const descriptorsOf = ({ pid }: RunningService): number => readdirSync(`/proc/${pid}/fd`).length;
/** The status of `/health`; what went wrong in words where there is none. */
function health(service: RunningService, agent: Agent | false): Promise<number | string> {
  return new Promise((resolve) => {
    const send = service.url.startsWith("https") ? requestHttps : requestHttp;
    const headers = { "X-API-Key": service.adminKey };
    const request = send(`${service.url}/api/v1/health`, { agent, headers, rejectUnauthorized: false }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
    });
    request.once("error", ({ message }) => resolve(message));
    request.end();
  });
}

/** Asks for `/health` again and again while the work continues, at least so often, and asserts that every time was answered. */
async function answersMeanwhile(
  service: RunningService,
  agent: Agent | false,
  work: (answered: (count: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  const answers: (number | string)[] = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) answers.push(await health(service, agent));
  })();
  const answered = async (count: number): Promise<void> => {
    const enough = answers.length + count;
    await until(`${count} answers`, () => answers.length >= enough || undefined, 300_000);
  };
  try {
    await work(answered);
  } finally {
    isOver = true;
    await asking;
  }
  expect(answers.filter((answer) => answer !== 200)).toEqual([]);
}

/** Waits until it has as few descriptors as before, give or take what a probe or a check has open. */
const descriptorsBack = (service: RunningService, before: number): Promise<true> =>
  until(`as few descriptors as before (${before})`, () => descriptorsOf(service) <= before + 5 || undefined);

function open(port: number): Socket {
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("error", () => undefined);
  return socket;
}

const errorsOf = (service: RunningService) => service.lines().filter(({ level }) => level === "error");

describe("a flood", () => {
  it("of more connections than are permitted leaves the open ones alone, and ends with them", async () => {
    const service = await startService(workspace, { checks: true, environment, openFiles });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await health(service, agent)).toBe(200);
    const before = descriptorsOf(service);
    let flood: Socket[] = [];
    await answersMeanwhile(service, agent, async (answered) => {
      flood = Array.from({ length: 4 * perAddress }, () => open(service.port).resume());
      const turnedAway = (): number => flood.filter(({ destroyed }) => destroyed).length;
      // The one that asks is one of those that may be.
      await until("those beyond the share turned away", () => turnedAway() > 3 * perAddress || undefined);
      await answered(20);
      expect(turnedAway()).toBeLessThan(3 * perAddress + 20);
    });
    // As many as may be, and not one file more than there is.
    expect(descriptorsOf(service)).toBeLessThan(openFiles);
    for (const socket of flood) socket.destroy();
    await descriptorsBack(service, before);
    agent.destroy();
    expect(await health(service, false)).toBe(200);
    expect(errorsOf(service)).toEqual([]);
  });

  const upgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
  const anonymous: readonly (readonly [way: string, begins: string, goesOn: string])[] = [
    ["that say nothing", "", ""],
    ["that ask /livez", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", "again"],
    ["that ask /readyz", "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n", "again"],
    ["whose key is wrong", "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX-API-Key: wrong\r\n\r\n", "again"],
    ["whose head never ends", "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", "x"],
    ["that are no WebSockets", `GET /api/v1/ws/health HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n`, "again"],
    ["that never read", "GET /api/v1/docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n", ""],
    ["whose TLS handshake never ends", "\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03", ""],
  ];

  it.each([
    ["http", ""],
    ["https", "tls: auto\n"],
  ])("of connections without a key keeps nobody with one from %s, who connects again each time", async (_, tls) => {
    const settings = `${tls}updates: { enabled: false }\nconnectors: { discover: false }\n`;
    const service = await startService(workspace, { checks: true, environment, openFiles, settings });
    for (const [way, begins, goesOn] of anonymous) {
      const again = goesOn === "again" ? begins : goesOn;
      const isPaused = way === "that never read";
      const held: Socket[] = [];
      let ended = 0;
      const hold = (at: number): void => {
        const socket =
          tls !== "" && !way.startsWith("whose TLS")
            ? connectTls({ host: "127.0.0.1", port: service.port, rejectUnauthorized: false })
            : open(service.port);
        socket.on("error", () => undefined);
        socket.once("close", () => {
          ended += 1;
        });
        if (isPaused) socket.pause();
        else socket.resume();
        socket.write(begins, "latin1");
        held[at] = socket;
      };
      const agent = false;
      await answersMeanwhile(service, agent, async (answered) => {
        // Fewer at once than an address may have: else one connection may make space before its request has come.
        for (let at = 0; at < 2 * perAddress; at += 1) {
          hold(at);
          if (at % 50 === 49) await answered(1);
        }
        for (let turn = 0; turn < 3; turn += 1) {
          await answered(5);
          let restarted = 0;
          for (const [at, socket] of held.entries()) {
            if (socket.destroyed && restarted < 50) {
              hold(at);
              restarted += 1;
            } else if (again !== "") socket.write(again, "latin1");
          }
        }
      });
      // It was more than could stay; who never reads does not notice.
      expect([way, isPaused || ended > perAddress]).toEqual([way, true]);
      for (const socket of held) socket.destroy();
    }
    expect(errorsOf(service)).toEqual([]);
  });

  it("of slow requests, and of clients that never read, harms nobody else and leaves nothing behind", async () => {
    const service = await startService(workspace, { checks: true, environment });
    const { port, adminKey } = service;
    const head = `Host: localhost\r\nX-API-Key: ${adminKey}\r\n`;
    const post = `POST /api/v1/auth/tokens HTTP/1.1\r\n${head}Content-Type: application/json\r\n`;
    const starts = [
      "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
      `${post}Content-Length: 500000\r\n\r\n{`,
      `${post}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      // Answers of hundreds of kilobytes, none of which is read.
      `GET /api/v1/openapi.json HTTP/1.1\r\n${head}\r\n`.repeat(8),
    ];
    const before = descriptorsOf(service);
    await answersMeanwhile(service, false, async (answered) => {
      const slow = Array.from({ length: 600 }, (_, at) => {
        const socket = open(port);
        socket.pause();
        socket.write(starts[at % starts.length] ?? "");
        return socket;
      });
      for (let turn = 0; turn < 4; turn += 1) {
        await answered(5);
        for (const [at, socket] of slow.entries()) if (at % starts.length < 2) socket.write(" ");
      }
      for (const socket of slow) socket.destroy();
    });
    await descriptorsBack(service, before);
    expect(errorsOf(service)).toEqual([]);
  });
});
