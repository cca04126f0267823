import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeClient } from "../../scripts/package/client/index.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { type RunningService, root, startService } from "./support/service.ts";
import { takeSnapshotFor } from "./support/snapshot.ts";
import { createWorkspace } from "./support/workspace.ts";
import { hasBrowser, openPage } from "./support/ws-browser.ts";
import { writeLog } from "./support/ws-journal.ts";

const workspace = createWorkspace();
const project = workspace.path("project");
const installed = join(project, "node_modules/steward-client");
const journalDir = workspace.path("journal");
const journal = join(journalDir, "system.journal");
let service: RunningService;
let tarball: string;

/** Runs a program in the project. */
function run(argv: readonly [string, ...string[]], environment: Readonly<Record<string, string>> = {}) {
  const [program, ...args] = argv;
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: project,
    encoding: "utf8",
    timeout: 120_000,
    env: { PATH: process.env["PATH"] ?? "", HOME: workspace.path(), ...environment },
  });
  return { status, text: `${stdout}${stderr}` };
}

const access = () => ({ STEWARD_URL: service.url, STEWARD_KEY: service.adminKey });

/** A Node of the oldest line that the package names in `engines`, where the machine has one. */
const oldestNode = (process.env["PATH"] ?? "")
  .split(delimiter)
  .concat("/usr/bin", "/usr/local/bin")
  .map((directory) => join(directory, "node"))
  .find((path) => existsSync(path) && spawnSync(path, ["--version"], { encoding: "utf8" }).stdout.startsWith("v20."));
const untested = oldestNode === undefined ? " (not tested: no Node 20 is installed)" : "";

/** A program of somebody who writes strict TypeScript. */
const strict = `
import { type Answer, ApiError, type Client, createClient, type Input, type LogEntry, streamLogs } from "steward-client";

const options = { url: "http://127.0.0.1:8470", key: "key" };
const steward: Client = createClient(options);

export async function look(): Promise<string> {
  const { status, components } = await steward.getHealth();
  const word: "healthy" | "degraded" | "unhealthy" = status;
  const { services } = await steward.listServices({ query: { status: "failed" } });
  const plan = await steward.applyUpdates({ query: { dry_run: true }, body: { type: "all" } });
  const steps: readonly string[] = plan.steps;
  const input: Input<"restartService"> = { params: { name: "nginx.service" } };
  const answer: Answer<"restartService"> = await steward.restartService(input);
  try {
    await steward.getPackage({ params: { name: "curl" } });
  } catch (error) {
    if (error instanceof ApiError && error.code === "NOT_FOUND") return error.message;
  }
  const metrics: string = await steward.getMetrics();
  return [word, components.cli, services.length, steps.length, answer.success, metrics.length].join();
}

export async function follow(show: (entry: LogEntry) => void): Promise<void> {
  for await (const entry of streamLogs({ ...options, unit: "nginx.service" })) show(entry);
}

// @ts-expect-error: no such operation
steward.makeCoffee;
// @ts-expect-error: a service has a name
steward.restartService({});
// @ts-expect-error: a misspelt member
steward.listServices({ query: { stat: "failed" } });
// @ts-expect-error: not a code of the service
export const isTeapot = (error: ApiError): boolean => error.code === "TEAPOT";
`;

const plain = `
import { ApiError, createClient, followOperation, runOperation, streamChecks, streamLogs } from "steward-client";

const options = { url: process.env.STEWARD_URL, key: process.env.STEWARD_KEY };
const steward = createClient(options);
const refusal = await steward.getOperation({ params: { id: "none" } }).catch((error) => error);
const wrongKey = await createClient({ ...options, key: "wrong" }).whoami().catch((error) => error);
const enough = new AbortController();
const messages = [];
for await (const { message } of streamLogs({ ...options, cursor: process.env.CURSOR, signal: enough.signal })) {
  messages.push(message);
  if (messages.length === 2) enough.abort();
}
const seen = new Set();
const input = { params: { snapshot_id: process.env.SNAPSHOT } };
const deleted = await runOperation({ ...options, onProgress: ({ id, status }) => seen.add(id + status) }, "deleteSnapshot", input);
const { operations: [last] } = await steward.listOperations();
const ended = await followOperation(options, last.id);
const late = await steward.cancelOperation({ params: { id: last.id } }).catch((error) => error);
const gone = await runOperation(options, "deleteSnapshot", input).catch((error) => error);
console.log(JSON.stringify({
  operations: [deleted.success, seen.has(last.id + "done"), ended.status, late.code, late.details?.reason, gone.code],
  status: (await steward.getHealth()).status,
  name: (await steward.whoami()).name,
  metrics: (await steward.getMetrics()).startsWith("# HELP"),
  logs: (await steward.listLogs({ query: { limit: 1 } })).logs.map(({ message }) => message),
  refusal: [refusal instanceof ApiError, refusal.code, refusal.status],
  wrongKey: wrongKey.code,
  messages,
  streams: [typeof streamChecks],
}));
`;

describe("the package of the client", () => {
  beforeAll(async () => {
    tarball = await makeClient({ version: "1.2.3", outdir: workspace.path("dist") });
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), JSON.stringify({ name: "app", private: true, type: "module" }));
    const options = ["--offline", "--no-audit", "--no-fund", "--ignore-scripts"];
    const { status, text } = run(["npm", "install", ...options, tarball]);
    expect([status, text]).toEqual([0, expect.stringContaining("added 1 package")]);
    mkdirSync(journalDir);
    if (canMakeJournals())
      writeLog(journal, [
        { message: "first", unit: "a.service", priority: 6 },
        { message: "second", unit: "a.service", priority: 6 },
        { message: "third", unit: "a.service", priority: 6 },
      ]);
    service = await startService(workspace, {
      settings: "updates: { enabled: true, backend: packages }\nconnectors: { discover: false }\n",
      environment: { STEWARD_JOURNAL_DIR: journalDir, STEWARD_RATE_LIMITS: "off" },
    });
  }, 240_000);
  afterAll(workspace.dispose);

  it("is one small module without dependencies", () => {
    expect(statSync(tarball).size).toBeLessThan(60 * 1024);
    expect(readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."))).toEqual([
      "steward-client",
    ]);
    expect(JSON.parse(readFileSync(join(installed, "package.json"), "utf8"))).toMatchObject({
      name: "steward-client",
      version: "1.2.3",
      engines: { node: ">=20" },
    });
    const module = readFileSync(join(installed, "index.js"), "utf8");
    expect(module).not.toMatch(/\bfrom ?"|\brequire\(|\bimport\(/);
    expect(readFileSync(join(installed, "README.md"), "utf8").split("\n").length).toBeLessThan(30);
  });

  it("has types that compile under strict settings, and refuse what the service would", () => {
    writeFileSync(join(project, "strict.ts"), strict);
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          target: "es2022",
          lib: ["es2022", "dom", "dom.asynciterable"],
          module: "nodenext",
          types: [],
          strict: true,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
          skipLibCheck: false,
          noEmit: true,
        },
        files: ["strict.ts"],
      }),
    );
    expect(run([join(root, "node_modules/.bin/tsc"), "--project", "tsconfig.json"])).toEqual({ status: 0, text: "" });
  });

  it.skipIf(!canMakeJournals())("is used from plain JavaScript", async () => {
    const answer = await fetch(`${service.url}/api/v1/system/logs`, { headers: { "X-API-Key": service.adminKey } });
    const { logs } = (await answer.json()) as { readonly logs: readonly { readonly cursor: string }[] };
    writeFileSync(join(project, "plain.js"), plain);
    const { status, text } = run([process.execPath, "plain.js"], {
      ...access(),
      CURSOR: logs[0]?.cursor ?? "",
      SNAPSHOT: await takeSnapshotFor(service),
    });
    expect([status, text]).toEqual([0, expect.stringContaining("{")]);
    expect(JSON.parse(text)).toEqual({
      operations: [true, true, "done", "CONFLICT", "ended", "NOT_FOUND"],
      status: "healthy",
      name: "admin",
      metrics: true,
      logs: ["third"],
      refusal: [true, "NOT_FOUND", 404],
      wrongKey: "UNAUTHORIZED",
      messages: ["second", "third"],
      streams: ["function"],
    });
  });

  it.runIf(oldestNode)(`is used on Node 20, with the sockets of ws${untested}`, async () => {
    const own = await startService(workspace, { checks: true });
    const program = `
      import { createClient, streamChecks } from "steward-client";
      import { WebSocket } from ${JSON.stringify(join(root, "node_modules/ws/wrapper.mjs"))};
      const options = { url: process.env.STEWARD_URL, key: process.env.STEWARD_KEY };
      const checks = streamChecks({ ...options, openSocket: (url) => new WebSocket(url) });
      const { value } = await checks.next();
      await checks.return();
      const { name } = await createClient(options).whoami();
      console.log(JSON.stringify([process.versions.node, typeof globalThis.WebSocket, name, typeof value.check_id]));
    `;
    const { status, text } = run([oldestNode ?? "", "--input-type=module", "--eval", program], {
      STEWARD_URL: own.url,
      STEWARD_KEY: own.adminKey,
    });
    expect([status, JSON.parse(text)]).toEqual([0, [expect.stringMatching(/^20\./), "undefined", "admin", "string"]]);
  });

  it("names what a stream needs on a Node without WebSocket", () => {
    const program = `
      delete globalThis.WebSocket;
      const { streamChecks } = await import("steward-client");
      await streamChecks({ url: "http://127.0.0.1:1" }).next().catch(({ message }) => console.log(message));
    `;
    const { text } = run([process.execPath, "--input-type=module", "--eval", program]);
    expect(text).toMatch(/^cannot open a stream: .*pass openSocket/);
  });

  it.runIf(hasBrowser())("works in a page of an admitted origin", async () => {
    const app = `import { createClient, runOperation, streamChecks } from "steward-client";
      globalThis.ask = async (url, key) => (await createClient({ url, key }).whoami()).name;
      globalThis.stream = async (url, key) => {
        for await (const { check_id: id } of streamChecks({ url, key })) return typeof id;
      };
      globalThis.follow = async (url, key, snapshot_id) => {
        const seen = new Set();
        const options = { url, key, onProgress: ({ status }) => seen.add(status) };
        const { success } = await runOperation(options, "deleteSnapshot", { params: { snapshot_id } });
        return [success, seen.has("done")];
      };`;
    writeFileSync(join(project, "page.js"), app);
    const { outputFiles } = await build({
      absWorkingDir: project,
      entryPoints: ["page.js"],
      bundle: true,
      platform: "browser",
      format: "iife",
      write: false,
    });
    const html = `<!doctype html><script>${outputFiles[0]?.text ?? ""}</script>`;
    const server = createServer((_, response) => response.setHeader("Content-Type", "text/html").end(html));
    try {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const own = await startService(workspace, {
        checks: true,
        settings: `cors: { origins: ["${origin}"] }\nupdates: { enabled: true, backend: packages }\n`,
      });
      const page = await openPage(workspace);
      await page.goTo(`${origin}/`);
      const called = (name: string, ...more: readonly string[]): Promise<unknown> =>
        page.evaluate(`${name}(...${JSON.stringify([own.url, own.adminKey, ...more])})`);
      expect(await called("ask")).toBe("admin");
      expect(await called("stream")).toBe("string");
      expect(await called("follow", await takeSnapshotFor(own))).toEqual([true, true]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
