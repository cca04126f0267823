import { once } from "node:events";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { type ModelServer, startModelServer } from "./support/model-server.ts";
import { reloadSettings } from "./support/reload.ts";
import type { LaunchOptions, RunningService } from "./support/service.ts";
import { logged, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const messages = [{ role: "user" as const, content: "How is it?" }];
const withoutOthers = "updates: { enabled: false }\n";
let models: ModelServer;
let file: string;
let files = 0;
beforeEach(async () => {
  models = await startModelServer();
  files += 1;
  file = workspace.path(`settings-${files}.yaml`);
});
afterEach(() => models.close());

/** Writes the settings file with these connectors, one a line. */
function write(list: readonly string[], rest = "", others = withoutOthers): void {
  const lines = list.map((each) => `    - { ${each} }\n`).join("");
  writeFileSync(file, `${others}connectors:\n  discover: false\n${rest}  list:\n${lines}`);
}
const entry = (name: string, rest = ""): string =>
  `name: ${name}, provider: openai-compatible, model: ${models.model}, base_url: "${models.url}"${rest}`;

const start = (options: LaunchOptions = {}): Promise<RunningService> =>
  startService(workspace, {
    ...options,
    environment: { STEWARD_CONFIG: file, STEWARD_RATE_LIMITS: "off", ...options.environment },
  });
const clientOf = ({ url, adminKey }: RunningService) => createClient({ url, key: adminKey });
const linesOf = ({ lines }: RunningService, message: string) => lines().filter(({ msg }) => msg === message);

const ask = ({ url, adminKey }: RunningService, body: object, signal?: AbortSignal): Promise<Response> =>
  fetch(`${url}/api/v1/connectors/chat`, {
    method: "POST",
    headers: { "X-API-Key": adminKey, "Content-Type": "application/json" },
    body: JSON.stringify({ messages, ...body }),
    ...(signal && { signal }),
  });

describe("a model server", () => {
  it("is discovered where it is an Ollama, and answers chats", async () => {
    const answer = {
      id: "c1",
      created: 1,
      model: "llama3.2:latest",
      choices: [{ index: 0, message: { role: "assistant", content: "All is well" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
    };
    const ollama = createServer(({ url }, response) => {
      const body = url === "/api/tags" ? { models: [{ name: "llama3.2:latest" }] } : answer;
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    try {
      await once(ollama, "listening");
      const address = ollama.address();
      if (typeof address !== "object" || address === null) throw new Error("it does not listen");
      writeFileSync(file, withoutOthers);
      const service = await start({ environment: { OLLAMA_HOST: `127.0.0.1:${address.port}` } });
      const client = clientOf(service);
      await until("a status", async () => (await client.getHealth()).components.llm || undefined);
      expect(await client.listConnectors()).toMatchObject({
        default: "ollama",
        connectors: [{ name: "ollama", model: "llama3.2:latest", status: "connected", last_error: null }],
      });
      expect(await client.chat({ body: { messages } })).toMatchObject({
        content: "All is well",
        usage: { input_tokens: 5, output_tokens: 3 },
      });
    } finally {
      ollama.close();
      ollama.closeAllConnections();
    }
  });

  it("is hung up on when the client of the service is gone", async () => {
    write([entry("local")]);
    const service = await start();
    models.mode = "held";
    const gone = new AbortController();
    const pending = ask(service, {}, gone.signal).then((response) => response.text());
    await until("a chat", () => models.chats() > 0 || undefined);
    gone.abort();
    await expect(pending).rejects.toThrow();
    await until("the end of it", () => models.hungUp() > 0 || undefined);
  });
});

describe("SIGHUP", () => {
  it("replaces connectors and their keys while a chat is in flight, which ends as it began", async () => {
    const key = workspace.path("key");
    writeFileSync(key, "first-key-of-the-file\n", { mode: 0o600 });
    write([entry("old", `, api_key_file: ${key}`)]);
    const service = await start();
    const client = clientOf(service);
    models.mode = "held";
    const [whole, pieces] = [client.chat({ body: { messages } }), ask(service, { stream: true })];
    await until("two chats", () => models.chats() === 2 || undefined);
    expect(models.received().at(-1)).toContain("Bearer first-key-of-the-file");
    writeFileSync(key, "second-key-of-the-file\n");
    const others = `${withoutOthers}rate_limits: { per_minute: 5 }\nallowed_hosts: [example.org]\n`;
    write([entry("new"), entry("other", `, api_key_file: ${key}`)], "  default: other\n", others);
    // Many at once are as good as one.
    for (let count = 0; count < 20; count += 1) service.kill("SIGHUP");
    await reloadSettings(service);
    expect(await client.listConnectors()).toMatchObject({
      default: "other",
      connectors: [{ name: "new" }, { name: "other" }],
    });
    // Limits are set by the environment here, which stands above the file.
    expect(await logged(service, "settings changed that take effect with a restart")).toMatchObject({
      level: "warn",
      parts: ["allowed_hosts"],
    });
    models.release();
    expect(await whole).toMatchObject({ connector: "old", content: "All is well" });
    expect(await (await pieces).text()).toContain("event: done\n");
    expect(await client.chat({ body: { messages } })).toMatchObject({ connector: "other" });
    expect(models.received().at(-1)).toContain("Bearer second-key-of-the-file");
    await expect(client.chat({ body: { messages, connector: "old" } })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("replaces windows, which hold back what was planned before and are overridden with a reason", async () => {
    write([entry("local")]);
    const service = await start();
    const make = async (path: string, headers = {}) => {
      const response = await fetch(`${service.url}/api/v1/auth/keys${path}`, {
        method: "POST",
        headers: { "X-API-Key": service.adminKey, "Content-Type": "application/json", ...headers },
        body: JSON.stringify({ name: "made", scopes: ["system:read"] }),
      });
      return [response.status, await response.json()] as const;
    };
    const [, plan] = await make("?dry_run=true");
    const { plan_token: token } = plan as { readonly plan_token: string };
    const window = (cron: string) =>
      write(
        [entry("local")],
        "",
        `${withoutOthers}windows: [{ name: freeze, ${cron}, duration: 5m, deny: [keys:admin] }]\n`,
      );
    // Opens again before it closes.
    window("cron: '* * * * *'");
    await reloadSettings(service);
    const refused = [409, { error: { details: { reason: "outside_window", window: "freeze" } } }];
    expect(await make("", { "X-Plan-Token": token })).toMatchObject(refused);
    window("cron: '61 * * * *'");
    await reloadSettings(service, "cannot reload the settings");
    expect(await make("")).toMatchObject(refused);
    // The plan is still the same one: it was held back, not used.
    const override = { "X-Plan-Token": token, "X-Window-Override": "a colleague needs it" };
    expect(await make("", override)).toMatchObject([201, { name: "made" }]);
    write([entry("local")]);
    await reloadSettings(service);
    expect(await make("")).toMatchObject([201, { name: "made" }]);
  });

  it("changes nothing where the file has faults, and names each with its line", async () => {
    write([entry("local")]);
    const service = await start();
    write([entry("local"), entry("local"), "name: x, provider: nobody, model: m"], "  default: gone\n");
    await reloadSettings(service, "cannot reload the settings");
    await reloadSettings(service, "cannot reload the settings");
    const faults = () => new Set(linesOf(service, "cannot reload the settings").map(({ fault }) => String(fault)));
    expect([...faults()]).toEqual([expect.stringContaining(`${file}:8:`)]);
    // What does not go together is looked for once each part has the right form.
    write([entry("local"), entry("local")], "  default: gone\n");
    await reloadSettings(service, "cannot reload the settings");
    await until("all faults", () => faults().size >= 3 || undefined);
    expect([...faults()].slice(1)).toEqual([
      expect.stringMatching(/:4:\d+: connectors\.default: there is no connector gone/),
      expect.stringMatching(/:7:\d+: connectors\.list\.1\.name: there is another connector local/),
    ]);
    expect(await clientOf(service).chat({ body: { messages } })).toMatchObject({ connector: "local" });
  });
});

describe("keys of providers", () => {
  it("are in no answer, log line, metric or file of the state directory, whatever the provider says", async () => {
    const planted = {
      environment: "sk-planted-Environment-4f9a8c1e7b2d6035",
      file: "sk-planted-File-91c7e5d3b8a2f6047c1d",
      credential: "sk-planted-Credential-0a1b2c3d4e5f6a7b",
      user: "plantedUserName77",
      password: "plantedPassWord4242",
    };
    const keyFile = workspace.path("planted");
    writeFileSync(keyFile, planted.file, { mode: 0o600 });
    const credentials = workspace.path();
    writeFileSync(join(credentials, "planted-credential"), planted.credential, { mode: 0o600 });
    chmodSync(keyFile, 0o600);
    const withUser = models.url.replace("http://", `http://${planted.user}:${planted.password}@`);
    const nowhere = "http://127.0.0.1:9/v1";
    write([
      entry("by-environment", ", api_key_env: PLANTED_KEY"),
      entry("by-file", `, api_key_file: ${keyFile}`),
      entry("by-credential", ", api_key_credential: planted-credential"),
      `name: by-address, provider: openai-compatible, model: ${models.model}, base_url: "${withUser}"`,
      `name: unreachable, provider: openai-compatible, model: m, base_url: "${nowhere}", api_key_env: PLANTED_KEY, timeout: 3s`,
      `name: gone, provider: openai-compatible, model: m, base_url: "${withUser.replace(/:\d+\/v1$/, ":9/v1")}", timeout: 3s`,
    ]);
    const service = await start({
      environment: {
        PLANTED_KEY: planted.environment,
        CREDENTIALS_DIRECTORY: credentials,
        STEWARD_LOG_LEVEL: "trace",
      },
    });
    const names = ["by-environment", "by-file", "by-credential", "by-address", "unreachable", "gone"];
    const seen: string[] = [];
    const keep = async (response: Response): Promise<void> => {
      seen.push([...response.headers].join("\n"), await response.text());
    };
    const headers = { "X-API-Key": service.adminKey, "Idempotency-Key": "kept" };
    for (const mode of ["well", "echoing"] as const) {
      models.mode = mode;
      for (const connector of names) {
        await keep(await ask(service, { connector }));
        await keep(await ask(service, { connector, stream: true }));
        const address = `${service.url}/api/v1/connectors/${connector}/test`;
        await keep(await fetch(address, { method: "POST", headers: { "X-API-Key": service.adminKey } }));
      }
      await keep(await fetch(`${service.url}/api/v1/connectors`, { headers }));
      await keep(await fetch(`${service.url}/api/v1/health`, { headers }));
    }
    // All were sent to the provider, so the search has something to find.
    const sent = models.received().join("\n");
    const basic = Buffer.from(`${planted.user}:${planted.password}`).toString("base64");
    for (const secret of [planted.environment, planted.file, planted.credential, basic]) expect(sent).toContain(secret);

    writeFileSync(file, `connectors: { list: [{ name: x, provider: openai-compatible, base_url: "${withUser}" }] }`);
    await reloadSettings(service, "cannot reload the settings");
    await keep(await fetch(`${service.url}/metrics`));
    service.kill("SIGTERM");
    await service.exit;
    const kept = readdirSync(service.stateDir, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"));
    const everything = [...seen, service.stdout(), service.stderr(), ...kept].join("\n");
    expect(seen.join("")).toContain('"provider_status":401');
    const parts = [...Object.values(planted), basic].flatMap((secret) => [secret, secret.slice(-12)]);
    const lines = everything.split("\n");
    expect(parts.flatMap((part) => lines.filter((line) => line.includes(part)).slice(0, 2))).toEqual([]);
  });
});
