import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadConfig } from "#config/load.ts";
import { egressDropIn, egressTargets } from "./egress.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-egress-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const configOf = (text: string) => {
  const file = join(directory, "config.yaml");
  writeFileSync(file, text);
  return loadConfig({ file, environment: {}, isRoot: false, builtInCheckIds: [] });
};

const names: Readonly<Record<string, readonly string[]>> = {
  "api.anthropic.com": ["192.0.2.10", "2001:db8::10"],
  "hooks.example.org": ["192.0.2.20", "192.0.2.20"],
};
const dropIn = async (text: string, given: { clients?: readonly string[]; allow?: readonly string[] } = {}) =>
  egressDropIn(configOf(text), {
    clients: [],
    allow: [],
    ...given,
    now: new Date(0),
    nameServers: () => Promise.resolve(["127.0.0.53", "192.0.2.53", "fe80::1%eth0"]),
    resolve: (name) =>
      names[name] === undefined ? Promise.reject(new Error("ENOTFOUND")) : Promise.resolve(names[name]),
  });

it("egress: every setting with an address is a target", () => {
  const webhook = join(directory, "webhook");
  writeFileSync(webhook, "https://hooks.example.org/services/secret\n");
  const config = configOf(`
connectors:
  list:
    - { name: claude, provider: anthropic, model: m }
    - { name: mine, provider: openai-compatible, model: m, base_url: "http://user:pass@models.example.org:8080/v1" }
tracing: { endpoint: "http://[2001:db8::4]:4318" }
probes:
  list:
    - { name: website, http: "https://www.example.org/" }
    - { name: database, tcp: "192.0.2.30:5432" }
    - { name: collector, collector: "http://192.0.2.31:4318" }
    - { name: prometheus, prometheus: "http://192.0.2.32:9090" }
    - { name: cron, unit: cron.service }
notifications:
  chat: { webhook_url_file: ${webhook} }
  email: { smtp: "smtp://mail.example.org:25", from: a@example.org, to: [b@example.org] }
  paging: { chat: { webhook_url_file: ${webhook} }, email: { smtp: "smtps://night.example.org", from: a@example.org, to: [c@example.org] } }
  ntfy: { topic: steward }
  gotify: { url: "http://192.0.2.40:8080", token_file: /t }
  teams: { webhook_url_file: ${webhook} }
  webhook: { url_file: ${webhook} }
`);
  expect(egressTargets(config).map(({ purpose, host }) => `${purpose} ${host}`)).toEqual([
    "connector claude api.anthropic.com",
    "connector mine models.example.org",
    "notifications by chat hooks.example.org",
    "notifications by paging_chat hooks.example.org",
    "notifications by ntfy ntfy.sh",
    "notifications by gotify 192.0.2.40",
    "notifications by teams hooks.example.org",
    "notifications by webhook hooks.example.org",
    "notifications by email mail.example.org",
    "notifications by paging_email night.example.org",
    "traces 2001:db8::4",
    "probe website www.example.org",
    "probe database 192.0.2.30",
    "probe collector 192.0.2.31",
    "probe prometheus 192.0.2.32",
  ]);
});

it("egress: the drop-in permits the targets, loopback and name servers, and nothing else", async () => {
  const { text, unresolved } = await dropIn(
    `connectors:
  list:
    - { name: claude, provider: anthropic, model: m }
    - { name: local, provider: ollama, model: m }
probes: { list: [{ name: gone, tcp: "gone.example.org:1" }] }
`,
    { allow: ["192.0.2.99"] },
  );
  expect(unresolved).toEqual([{ purpose: "probe gone", host: "gone.example.org" }]);
  expect(text.slice(text.indexOf("[Service]"))).toBe(`[Service]
IPAddressDeny=any
# this host
IPAddressAllow=localhost
# name servers
IPAddressAllow=192.0.2.53 fe80::1
# connector claude: api.anthropic.com
IPAddressAllow=192.0.2.10 2001:db8::10
# probe gone: gone.example.org could not be resolved
# as given
IPAddressAllow=192.0.2.99
`);
  expect(text).toContain(`${join(directory, "config.yaml")} on 1970-01-01T00:00:00.000Z`);
});

it("egress: the networks of clients are needed when the service listens beyond loopback", async () => {
  const settings = "listen: 0.0.0.0:8470\ntls: off\n";
  await expect(dropIn(settings)).rejects.toThrow("its clients would be refused, too (name their networks: --clients");
  expect((await dropIn(settings, { clients: ["10.0.0.0/8"] })).text).toContain(
    "# clients\nIPAddressAllow=10.0.0.0/8\n",
  );
});

it.each(["any", "10.0.0.0/33", "example.org", "10.0.0.1\nExecStart=/bin/sh"])(
  "egress: %j is refused as a network",
  async (allow) => {
    await expect(dropIn("", { allow: [allow] })).rejects.toThrow("expected an IP address or a network");
  },
);
