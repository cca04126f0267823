import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { canMakeJournals } from "../journals/programs.ts";
import type { RawAnswer } from "../process/support/raw-socket.ts";
import { exchange } from "../process/support/raw-socket.ts";
import { type RunningService, startService } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser, openPage, type Page } from "../process/support/ws-browser.ts";
import { writeLog } from "../process/support/ws-journal.ts";

const script = "<script>globalThis.owned=1</script><img src=x onerror=globalThis.owned=1>";
const workspace = createWorkspace();
const journalDir = workspace.path("journal");
let service: RunningService;

beforeAll(async () => {
  mkdirSync(journalDir);
  if (canMakeJournals())
    writeLog(`${journalDir}/system.journal`, [{ message: script, unit: "app.service", priority: 6 }]);
  chmodSync(workspace.path(), 0o755);
  const plugin = workspace.path("plugins", "marked");
  mkdirSync(plugin, { recursive: true, mode: 0o755 });
  const manifest = { name: "marked", version: "1", type: "command", exec: "run", author: script, description: script };
  writeFileSync(`${plugin}/plugin.yaml`, JSON.stringify(manifest), { mode: 0o644 });
  writeFileSync(`${plugin}/run`, `#!/bin/sh\necho '${script}'\n`, { mode: 0o755 });
  service = await startService(workspace, {
    settings: [
      "updates: { enabled: false }",
      "connectors: { discover: false }",
      `plugins: { dirs: [${workspace.path("plugins")}] }`,
      `health: { checks: { marked: { command: [/bin/echo, '${script}'], name: '${script}' } } }`,
      "",
    ].join("\n"),
    environment: { STEWARD_RATE_LIMITS: "off", STEWARD_JOURNAL_DIR: journalDir },
  });
});
afterAll(workspace.dispose);

/** What keeps a browser from taking an answer for a page, running what is in it, or showing it to others. */
function expectInert(path: string, { headers }: RawAnswer): void {
  const policy = headers["content-security-policy"] ?? "";
  expect([path, headers["content-type"]]).toEqual([
    path,
    expect.stringMatching(/^(application\/(json|vnd\.fdo\.journal)|text\/plain)\b/),
  ]);
  expect([path, policy]).toEqual([path, expect.stringContaining("default-src 'none'")]);
  expect([path, policy]).toEqual([path, expect.not.stringContaining("script-src")]);
  expectGuarded(path, headers);
}

function expectGuarded(path: string, headers: RawAnswer["headers"]): void {
  expect([path, headers["content-security-policy"]]).toEqual([path, expect.stringContaining("frame-ancestors 'none'")]);
  expect([path, headers]).toMatchObject([
    path,
    {
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "same-origin",
    },
  ]);
  for (const name of Object.keys(headers)) expect(name).not.toMatch(/^(access-control-|set-cookie)/);
}

const ask = async (path: string, more = "", method = "GET"): Promise<RawAnswer> => {
  const key = `X-API-Key: ${service.adminKey}\r\n`;
  const [answer] = await exchange(service.port, `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${key}${more}\r\n`);
  if (answer === undefined) throw new Error(`no answer to ${path}`);
  return answer;
};

describe("text of others in an answer", () => {
  it("has every header that keeps a browser from running it, whatever is asked [cross-site-scripting]", async () => {
    for (const { method, base, path } of Object.values<Operation>(operations)) {
      const address = `${base === "root" ? "" : apiBase}${path.replaceAll(/\{\w+\}/g, encodeURIComponent(script))}`;
      expectInert(address, await ask(address, "", method));
    }
    for (const path of [
      `/${encodeURIComponent(script)}`,
      "/%",
      "/api/v1/ws/logs",
      `/livez?${encodeURIComponent(script)}`,
    ])
      expectInert(path, await ask(path));
    for (const head of [
      `GET /livez HTTP/1.1\r\nHost: ${script}\r\n\r\n`,
      `${script}\r\n\r\n`,
      "CONNECT a:1 HTTP/1.1\r\n\r\n",
    ]) {
      const [answer] = await exchange(service.port, head);
      expect(answer).toBeDefined();
      if (answer !== undefined) expectInert(head, answer);
    }
  });

  it("is unchanged in log lines, plugin authors, names and output of checks, names of keys [cross-site-scripting]", async () => {
    const client = createClient({ url: service.url, key: service.adminKey });
    await client.createKey({ body: { name: script, scopes: [] } });
    const paths = ["/plugins", "/health/checks/marked", "/auth/keys", ...(canMakeJournals() ? ["/system/logs"] : [])];
    for (const path of paths) {
      const answer = await ask(`${apiBase}${path}`);
      expect([path, answer.status, answer.body]).toEqual([path, 200, expect.stringContaining("<script>")]);
      expectInert(path, answer);
    }
  });

  it("is not in the pages of the reference, which take scripts from the service alone", async () => {
    for (const path of ["/docs", "/docs/start.js", "/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js"]) {
      const { status, headers } = await ask(`${apiBase}${path}`);
      expect([path, status]).toEqual([path, 200]);
      expectGuarded(path, headers);
      expect(headers["content-security-policy"]).toContain("script-src 'self';");
      expect(headers["content-security-policy"]).not.toMatch(/script-src[^;]*(unsafe|data:|https?:|\*)/);
    }
  });
});

describe.runIf(hasBrowser())("text of others in a browser", () => {
  let page: Page;
  let foreign: Server;
  let foreignUrl: string;
  const asked: string[] = [];

  beforeAll(async () => {
    page = await openPage(workspace);
    foreign = createServer((request, response) => {
      asked.push(request.url ?? "");
      if (request.url?.startsWith("/page") === true) {
        const target = new URL(request.url, "http://localhost").searchParams.get("of") ?? "";
        response.setHeader("Content-Type", "text/html");
        response.end(`<iframe src="${target}"></iframe><script src="${target}"></script>`);
        return;
      }
      response.setHeader("Access-Control-Allow-Origin", "*").setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ url: `${foreignUrl}/spec.json`, openapi: "3.1.0", info: { title: script } }));
    });
    await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
    const address = foreign.address();
    foreignUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }, 120_000);
  afterAll(() => foreign?.close());

  it("in an address of the service is not run, and brings in nothing from elsewhere [cross-site-scripting]", async () => {
    const text = encodeURIComponent(script);
    const elsewhere = encodeURIComponent(`${foreignUrl}/spec.json`);
    for (const path of [
      `/${text}`,
      `/livez?x=${text}`,
      `${apiBase}/health?api_key=${text}`,
      `${apiBase}/docs?url=${elsewhere}`,
      `${apiBase}/docs?configUrl=${elsewhere}`,
      `${apiBase}/docs#/${text}`,
    ]) {
      await page.goTo(`${service.url}${path}`);
      expect([path, await page.evaluate("typeof globalThis.owned")]).toEqual([path, "undefined"]);
      // Nor does what a page of the service would run: only its own files are scripts.
      const injected = `new Promise((resolve) => {
        const element = document.createElement("script");
        element.textContent = "globalThis.owned = 1";
        document.documentElement.append(element);
        setTimeout(() => resolve(typeof globalThis.owned), 50);
      })`;
      expect([path, await page.evaluate(injected)]).toEqual([path, "undefined"]);
    }
    expect(asked).toEqual([]);
  });

  it("in an answer is neither shown in a frame of another page, nor run as its script [cross-site-scripting]", async () => {
    await page.goTo(`${foreignUrl}/page?of=${encodeURIComponent(`${service.url}/metrics`)}`);
    expect(await page.evaluate("document.querySelector('iframe') !== null")).toBe(true);
    const inFrame = "(() => { try { return frames[0].document.body.innerText } catch { return 'closed' } })()";
    expect(await page.evaluate(inFrame)).not.toContain("svc_requests_total");
    const fetched = `fetch(${JSON.stringify(`${service.url}/metrics`)}, { mode: "no-cors" }).then(() => "read", () => "refused")`;
    expect(await page.evaluate(fetched)).toBe("refused");
  });
});
