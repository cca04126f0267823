import { createServer, request, type Server } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LogLine, type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";
import { hasBrowser, openPage, type Page } from "./support/ws-browser.ts";

const workspace = createWorkspace();
const servers: Server[] = [];
let service: RunningService;
let admitted: string;
let other: string;

async function startPage(): Promise<string> {
  const server = createServer((_, response) =>
    response.setHeader("Content-Type", "text/html").end("<!doctype html><title>elsewhere</title>"),
  );
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

beforeAll(async () => {
  [admitted, other] = [await startPage(), await startPage()];
  service = await startService(workspace, {
    settings: `cors: { origins: ["${admitted}"] }\nupdates: { enabled: false }\nconnectors: { discover: false }\n`,
    environment: { STEWARD_RATE_LIMITS: "off" },
  });
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await workspace.dispose();
});

const overSocket = (name: string, headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const socketPath = join(service.stateDir, name);
    const call = request({ socketPath, path: "/api/v1/auth/whoami", agent: false, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    call.on("error", reject).end();
  });

it("the administrator's socket is closed to every page, also of an admitted origin", async () => {
  const name = process.getuid?.() === 0 ? "root.sock" : "owner.sock";
  expect(await overSocket(name, {})).toBe(200);
  expect(await overSocket(name, { origin: admitted })).toBe(401);
});

describe.runIf(hasBrowser())("a page in a browser", () => {
  let page: Page;
  beforeAll(async () => {
    page = await openPage(workspace);
  });

  const inPage = (script: string): Promise<unknown> => page.evaluate(`(async () => { ${script} })()`);
  const call = (path: string, init = ""): string =>
    `const answer = await fetch(${JSON.stringify(`${service.url}/api/v1${path}`)},
       { headers: { "X-API-Key": ${JSON.stringify(service.adminKey)}, "Content-Type": "application/json" }, ${init} });`;
  const opens = `return await new Promise((resolve) => {
    const socket = new WebSocket(${JSON.stringify("address")});
    socket.onopen = () => resolve("open");
    socket.onclose = ({ code }) => resolve("closed " + code);
  });`;
  const openStream = (): Promise<unknown> =>
    inPage(
      opens.replace("address", `${service.url.replace(/^http/, "ws")}/api/v1/ws/health?api_key=${service.adminKey}`),
    );

  it("of an admitted origin reads, changes and streams with a key", async () => {
    await page.goTo(`${admitted}/`);
    expect(
      await inPage(`${call("/health")} return [answer.status, answer.headers.get("X-Request-Id") !== null];`),
    ).toEqual([200, true]);
    const body = `method: "POST", body: '{"name":"page","scopes":[]}'`;
    expect(await inPage(`${call("/auth/keys", body)} return answer.status;`)).toBe(201);
    expect(await inPage(`${call("/health", "headers: {}")} return answer.status;`)).toBe(401);
    expect(await openStream()).toBe("open");
  });

  it("of an admitted origin gets an unchanged list from its cache after a 304", async () => {
    await page.goTo(`${admitted}/`);
    const list = `${call("/health/checks")} return [answer.status, (await answer.json()).summary.total];`;
    const first = await inPage(list);
    expect(await inPage(list)).toEqual(first);
    await until(
      "line of the 304",
      () =>
        service.lines().some(({ endpoint, status }) => endpoint === "/api/v1/health/checks" && status === 304) ||
        undefined,
    );
  });

  it("of the service itself streams with a key, also under its policy for scripts", async () => {
    for (const path of ["/livez", "/api/v1/docs"]) {
      await page.goTo(`${service.url}${path}`);
      expect([path, await openStream()]).toEqual([path, "open"]);
    }
  });

  it("of another origin gets no answer and no stream", async () => {
    await page.goTo(`${other}/`);
    const failed = `return "TypeError";`;
    expect(await inPage(`try { ${call("/health")} return answer.status; } catch { ${failed} }`)).toBe("TypeError");
    expect(await openStream()).toBe("closed 1006");
    const isRefused = ({ endpoint, status }: LogLine) => endpoint === "/api/v1/ws/health" && status === 403;
    await until("line of the refusal", () => service.lines().some(isRefused) || undefined);
  });
});
