import { mkdirSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canMakeJournals } from "../journals/programs.ts";
import { type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";
import { hasBrowser, openPage, type Page } from "./support/ws-browser.ts";
import { writeLog } from "./support/ws-journal.ts";

const workspace = createWorkspace();
const journalDir = workspace.path("journal");
const file = `${journalDir}/system.journal`;
let service: RunningService;
let page: Page;
let foreign: Server | undefined;

/** Opens the stream with the page's own WebSocket, and notes what happens. */
const connect = (): Promise<unknown> => {
  const address = `${service.url.replace(/^http/, "ws")}/api/v1/ws/logs?api_key=${service.adminKey}`;
  return page.evaluate(`new Promise((resolve) => {
    const happenings = [];
    const socket = new WebSocket(${JSON.stringify(address)});
    Object.assign(globalThis, { happenings, socket });
    socket.onopen = () => resolve("open");
    socket.onmessage = ({ data }) => happenings.push(JSON.parse(data));
    socket.onclose = ({ code }) => {
      happenings.push({ closed: code });
      resolve("closed " + code);
    };
  })`);
};

type Happenings = readonly Readonly<Record<string, unknown>>[];
const happenings = (count: number): Promise<Happenings> =>
  until(`happening ${count}`, async () => {
    const list = (await page.evaluate("happenings")) as Happenings;
    return list.length >= count ? list : undefined;
  });

/** Statuses that the service has answered upgrades with. */
const statuses = (): readonly unknown[] =>
  service
    .lines()
    .filter((line) => line["endpoint"] === "/api/v1/ws/logs")
    .map((line) => line["status"]);

describe.runIf(hasBrowser() && canMakeJournals())("a browser", () => {
  beforeAll(async () => {
    mkdirSync(journalDir);
    writeLog(file, [{ message: "before", unit: "app.service", priority: 6 }]);
    service = await startService(workspace, {
      environment: { STEWARD_RATE_LIMITS: "off", STEWARD_JOURNAL_DIR: journalDir },
    });
    page = await openPage(workspace);
  }, 120_000);

  it.each(["/livez", "/api/v1/docs"])("streams from a page of the service: %s", async (path) => {
    await page.goTo(`${service.url}${path}`);
    expect(await connect()).toBe("open");
    writeLog(file, [{ message: `<script>alert("${path}")</script>`, unit: "app.service", priority: 6 }]);
    expect((await happenings(1))[0]).toMatchObject({
      message: `<script>alert("${path}")</script>`,
      unit: "app.service",
    });
    await page.evaluate(`socket.send(JSON.stringify({ type: "filter", unit: "web", priority: "err" }))`);
    await page.evaluate(`socket.send(JSON.stringify({ type: "filter", unit: 1 }))`);
    expect((await happenings(2))[1]).toMatchObject({ type: "error", error: { code: "VALIDATION_ERROR" } });
    writeLog(file, [
      { message: "no", unit: "web.service", priority: 6 },
      { message: "yes", unit: "web.service", priority: 3 },
    ]);
    expect((await happenings(3))[2]).toMatchObject({ message: "yes" });
    await page.evaluate(`socket.send("not JSON")`);
    expect((await happenings(4))[3]).toEqual({ closed: 1007 });
    expect(statuses().at(-1)).toBe(101);
  });

  it("gets nothing on a page from elsewhere", async () => {
    const server = createServer((_, response) =>
      response.setHeader("Content-Type", "text/html").end("<!doctype html>"),
    );
    foreign = server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    const address = server.address();
    await page.goTo(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/`);
    expect(await connect()).toBe("closed 1006");
    // The line takes a way of its own.
    await until("log line of the refusal", () => (statuses().at(-1) === 403 ? true : undefined));
  });
});

afterAll(async () => {
  foreign?.closeAllConnections();
  foreign?.close();
  await workspace.dispose();
});
