import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { notificationChannels } from "#contract/alerts.ts";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { runSteward } from "../process/support/program.ts";
import { type RunningService, startService, writeSettings } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

/** One of every secret that settings lead to, each found nowhere else. */
const secrets = {
  connectorKey: "sk-PLANTEDconnector4f9a8c1e7b2d",
  connectorVariable: "sk-PLANTEDvariable91c7e5d3b8a2",
  connectorPassword: "PLANTEDconnectorpassword7731",
  webhook: "PLANTEDwebhook0a1b2c3d4e5f6a7b",
  mailPassword: "PLANTEDmailpassword55aa66bb",
  probePassword: "PLANTEDprobepassword8899aabb",
  collectorPassword: "PLANTEDcollectorpassword2468",
  ntfyTopic: "PLANTEDntfytopic13579",
  ntfyToken: "PLANTEDntfytoken24680",
  gotifyToken: "PLANTEDgotifytoken97531",
  telegramToken: "12345:PLANTEDtelegramtoken86420",
  matrixToken: "PLANTEDmatrixtoken11335577",
  teamsWebhook: "PLANTEDteamswebhook22446688",
  pagerdutyKey: "PLANTEDpagerdutykey99887766",
  opsgenieKey: "PLANTEDopsgeniekey55443322",
  webhookAddress: "PLANTEDwebhookaddress10293847",
  webhookHeader: "PLANTEDwebhookheader56473829",
};
/** Port 9 refuses: what fails is reported, and that is where secrets get out. */
const nowhere = "127.0.0.1:9";

const file = (name: string, text: string): string => {
  const path = workspace.path(name);
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  chmodSync(path, 0o600);
  return path;
};

let service: RunningService;
let settings: string;

beforeAll(async () => {
  settings = [
    "updates: { enabled: false }",
    "connectors:",
    "  discover: false",
    "  list:",
    `    - { name: by-file, provider: openai-compatible, model: m, base_url: "http://${nowhere}/v1", api_key_file: ${file("key", secrets.connectorKey)}, timeout: 2s }`,
    `    - { name: by-variable, provider: openai-compatible, model: m, base_url: "http://${nowhere}/v1", api_key_env: PLANTED_VARIABLE, timeout: 2s }`,
    `    - { name: by-address, provider: openai-compatible, model: m, base_url: "http://user:${secrets.connectorPassword}@${nowhere}/v1", timeout: 2s }`,
    "notifications:",
    `  chat: { webhook_url_file: ${file("webhook", `http://${nowhere}/services/${secrets.webhook}`)} }`,
    `  email: { smtp: "smtp://${nowhere}", from: steward@example.org, to: [people@example.org], user: steward, password_file: ${file("password", secrets.mailPassword)}, starttls: "off" }`,
    `  ntfy: { url: "http://${nowhere}", topic_file: ${file("topic", secrets.ntfyTopic)}, token_file: ${file("ntfy", secrets.ntfyToken)} }`,
    `  gotify: { url: "http://${nowhere}", token_file: ${file("gotify", secrets.gotifyToken)} }`,
    `  telegram: { url: "http://${nowhere}", chat_id: 1, token_file: ${file("telegram", secrets.telegramToken)} }`,
    `  matrix: { url: "http://${nowhere}", room: "!a:b", token_file: ${file("matrix", secrets.matrixToken)} }`,
    `  teams: { webhook_url_file: ${file("teams", `http://${nowhere}/?sig=${secrets.teamsWebhook}`)} }`,
    `  pagerduty: { url: "http://${nowhere}", routing_key_file: ${file("pagerduty", secrets.pagerdutyKey)} }`,
    `  opsgenie: { url: "http://${nowhere}", api_key_file: ${file("opsgenie", secrets.opsgenieKey)} }`,
    `  webhook: { url_file: ${file("address", `http://${nowhere}/${secrets.webhookAddress}`)}, headers: [{ name: Authorization, value_file: ${file("header", secrets.webhookHeader)} }] }`,
    `probes: { list: [{ name: shop, http: "http://${nowhere}/" }] }`,
    `tracing: { receiver: off, endpoint: "http://user:${secrets.collectorPassword}@${nowhere}" }`,
    "",
  ].join("\n");
  service = await startService(workspace, {
    checks: true,
    settings,
    environment: {
      STEWARD_RATE_LIMITS: "off",
      STEWARD_LOG_LEVEL: "trace",
      PLANTED_VARIABLE: secrets.connectorVariable,
    },
  });
});

const seenIn = (text: string): readonly string[] =>
  Object.entries(secrets)
    .flatMap(([name, secret]) => [secret, Buffer.from(`user:${secret}`).toString("base64")].map((form) => [name, form]))
    .filter(([, form = ""]) => text.includes(form))
    .map(([name = ""]) => name);

const answers = async (): Promise<string> => {
  const headers = { "X-API-Key": service.adminKey };
  const read = Object.values<Operation>(operations).filter(({ effect }) => effect === "read");
  const texts: string[] = [];
  for (const { base, path } of read) {
    // Of each kind of thing one that there is.
    const there = { connectors: "by-file", components: "shop", checks: "disk_space" };
    const named = Object.entries(there).flatMap(([kind, name]) => (path.includes(`/${kind}/`) ? [name] : []));
    for (const example of [...named, "x"].slice(0, path.includes("{") ? 2 : 1)) {
      const address = `${base === "root" ? "" : apiBase}${path.replaceAll(/\{\w+\}/g, example)}`;
      const response = await fetch(`${service.url}${address}`, { headers });
      texts.push([...response.headers].join("\n"), await response.text());
    }
  }
  return texts.join("\n");
};

describe("secrets that settings lead to", () => {
  it("are in no answer, whatever is asked, before and after each was used and failed [secrets-in-answers]", async () => {
    expect(seenIn(await answers())).toEqual([]);
    const client = createClient({ url: service.url, key: service.adminKey });
    for (const name of ["by-file", "by-variable", "by-address"]) {
      expect(await client.testConnector({ params: { name } })).toMatchObject({ success: false });
      const messages = [{ role: "user" as const, content: "Hello" }];
      await expect(client.chat({ body: { connector: name, messages } })).rejects.toThrow();
    }
    const { results } = await client.testNotifications({ body: {} });
    expect(results.map(({ channel, success }) => [channel, success])).toEqual(
      notificationChannels.filter((channel) => !channel.startsWith("paging")).map((channel) => [channel, false]),
    );
    expect(seenIn(JSON.stringify(results))).toEqual([]);
    expect(seenIn(await answers())).toEqual([]);
  });

  it("are in no line of the log, and in no file of the state directory [secrets-in-answers]", () => {
    expect(service.lines().length).toBeGreaterThan(30);
    expect(seenIn(service.stdout() + service.stderr())).toEqual([]);
    const files = readdirSync(service.stateDir, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    const holding = files
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((path) => seenIn(readFileSync(path, "latin1")).length > 0);
    expect(holding).toEqual([]);
  });

  it("are in nothing that the command line prints: help, checks of the settings, states, files for other programs [secrets-in-answers]", async () => {
    const environment = {
      STEWARD_CONFIG: writeSettings(workspace, settings),
      STEWARD_LISTEN: new URL(service.url).host,
      STEWARD_STATE_DIR: service.stateDir,
      PLANTED_VARIABLE: secrets.connectorVariable,
    };
    for (const argv of [
      ["--help"],
      ["config", "check"],
      ["config", "check", "--json"],
      ["check", "--json"],
      ["alerts"],
      ["notify", "test"],
      ["notify", "list"],
      ["keys", "list"],
      ["plugins"],
      ["observability", "init", workspace.path("files")],
      ["nonsense"],
    ]) {
      const { stdout, stderr } = await runSteward(workspace, argv, environment);
      expect([argv, stdout.length + stderr.length > 0, seenIn(stdout + stderr)]).toEqual([argv, true, []]);
    }
    const written = readdirSync(workspace.path("files"), { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8"));
    expect(written.length).toBeGreaterThan(0);
    expect(seenIn(written.join("\n"))).toEqual([]);
  });

  it("are not repeated by the refusal of settings that have one where none may be", async () => {
    const faulty = `probes: { list: [{ name: shop, http: "http://user:${secrets.probePassword}@${nowhere}/" }] }\n`;
    const { code, stdout, stderr } = await runSteward(workspace, ["config", "check"], {
      STEWARD_CONFIG: writeSettings(workspace, faulty),
    });
    expect([code, seenIn(stdout + stderr)]).toEqual([1, []]);
    expect(stdout + stderr).toContain("cannot contain a user name or a password");
  });

  it("are in the title and the command line of no process [secrets-in-answers]", () => {
    for (const name of ["cmdline", "comm", "status"])
      expect([name, seenIn(readFileSync(`/proc/${service.pid}/${name}`, "utf8"))]).toEqual([name, []]);
  });
});
