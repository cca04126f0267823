import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { startModelServer } from "./support/model-server.ts";
import { logged, root, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

/** What only talking to providers, traces and mail have use for. The interface of OpenTelemetry is small, and the metrics take it. */
const heavy = /node_modules\/(?:undici|@ai-sdk|@grpc|@bufbuild|nodemailer|@opentelemetry\/(?!api\/))/;
/** The thread of the traces and what only it takes. */
const traceThread = /\/src\/(?:app\/tracing\/thread|adapters\/trace-store\/|transports\/otlp\/(?:grpc|intake|decode))/;
/** Receives traces, on ports that no other service has. */
const receiving = "tracing: { ports: { grpc: 0, http: 0 } }\n";

const mail = `{ smtp: "smtp://127.0.0.1:9", from: steward@example.org, to: [ops@example.org] }`;

/** Starts the service with a note of each module that it loads. */
async function startWatched(settings: string, environment: Readonly<Record<string, string>>) {
  const list = workspace.path(`modules-${randomUUID()}`);
  const preload = `${list}.mjs`;
  writeFileSync(
    preload,
    `import { appendFileSync } from "node:fs";
    import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(list)}, url + "\\n"); return next(url, context); } });`,
  );
  const service = await startService(workspace, {
    checks: true,
    // Of the sources: the bundle has many modules in one.
    program: [process.execPath, `${root}/src/main.ts`],
    settings,
    environment: { NODE_OPTIONS: `--import ${pathToFileURL(preload).href}`, ...environment },
  });
  const loaded = () => (existsSync(list) ? readFileSync(list, "utf8").split("\n") : []);
  // What is loaded once the service has come to rest.
  await until("the last of the start", () => loaded().some((url) => url.endsWith("/src/app/updates.ts")) || undefined);
  return { service, client: createClient({ url: service.url, key: service.adminKey }), loaded };
}

it("an idle service that receives traces loads no library for providers, traces or mail", async () => {
  const models = await startModelServer();
  const { port } = new URL(models.url);
  await models.close();
  const settings = `updates: { enabled: false }\nnotifications: { email: ${mail} }\n${receiving}`;
  const { service, client, loaded } = await startWatched(settings, { OLLAMA_HOST: `127.0.0.1:${port}` });
  await logged(service, "receiving traces");
  expect((await client.listConnectors({})).connectors).toEqual([]);
  await client.listChecks({});
  expect(loaded().some((url) => url.endsWith("/src/adapters/llm/discovery.ts"))).toBe(true);
  expect(loaded().filter((url) => heavy.test(url) || traceThread.test(url))).toEqual([]);
  // With the first question they are.
  await client.listTraces({});
  await until("the thread of the traces", () => loaded().some((url) => traceThread.test(url)) || undefined);
});

it("a service loads the library of a provider with the first chat", async () => {
  const models = await startModelServer();
  try {
    const entry = `{ name: local, provider: openai-compatible, model: ${models.model}, base_url: "${models.url}" }`;
    const settings = `updates: { enabled: false }\nconnectors: { discover: false, list: [${entry}] }\n`;
    const { client, loaded } = await startWatched(settings, {});
    await client.chat({ body: { messages: [{ role: "user", content: "Hello" }] } });
    expect(loaded().some((url) => url.includes("node_modules/undici/"))).toBe(true);
    expect(loaded().some((url) => url.includes("node_modules/@ai-sdk/"))).toBe(true);
    expect(loaded().filter((url) => url.includes("node_modules/@opentelemetry/") && heavy.test(url))).toEqual([]);
  } finally {
    await models.close();
  }
});
