import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Environment } from "./defaults.ts";
import { formatFault, SettingsFaulty } from "./faults.ts";
import { loadConfig } from "./load.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-config-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const load = (text: string | undefined, environment: Environment = {}, isRoot = true) => {
  const file = text === undefined ? undefined : join(directory, "config.yaml");
  if (file !== undefined && text !== undefined) writeFileSync(file, text);
  return loadConfig({
    file,
    environment: { STEWARD_CONFIG: join(directory, "config.yaml"), ...environment },
    isRoot,
    builtInCheckIds: ["memory"],
  });
};

/** The faults as `steward config check` prints them, without the directory. */
function faults(text: string, environment: Environment = {}): readonly string[] {
  try {
    load(text, environment);
    return [];
  } catch (error) {
    if (!(error instanceof SettingsFaulty)) throw error;
    return error.faults.map((fault) => formatFault(fault).replace(`${directory}/`, ""));
  }
}

describe("default settings", () => {
  it("are those of the documentation", () => {
    expect(load("")).toMatchObject({
      listen: { host: "127.0.0.1", port: 8470 },
      tls: "off",
      stateDir: "/var/lib/steward",
      logLevel: "info",
      rateLimits: { perMinute: 100, perHour: 1000 },
      metricsPublic: "loopback",
      warnings: [],
    });
  });

  it("have the state directory of another user below their home", () => {
    expect(load("", { XDG_STATE_HOME: "/home/me/state" }, false).stateDir).toBe("/home/me/state/steward");
    expect(load("", {}, false).stateDir).toMatch(/\/\.local\/state\/steward$/);
  });
});

describe("metrics without a key", () => {
  it.each([
    ["", "loopback"],
    ["trusted_proxies: [10.0.0.1]", "never"],
    ["allowed_hosts: [steward.example.org]", "never"],
    ["allowed_hosts: [steward.example.org]\nlisten: 192.0.2.1:8470\ntls: auto", "loopback"],
    ["trusted_proxies: [10.0.0.1]\nlisten: 192.0.2.1:8470\ntls: auto", "never"],
    ["trusted_proxies: [10.0.0.1]\nmetrics: { public: always }", "always"],
  ])("are closed to loopback behind a proxy: %s", (text, metricsPublic) => {
    expect(load(text)).toMatchObject({ metricsPublic, warnings: [] });
  });

  it("are closed with a warning where settings contradict a proxy", () => {
    const { metricsPublic, warnings } = load("trusted_proxies: [10.0.0.1]\nmetrics: { public: loopback }");
    expect(metricsPublic).toBe("never");
    expect(warnings).toEqual([expect.stringContaining("metrics:read")]);
  });
});

describe("cors.origins", () => {
  it("are none by default, and exact", () => {
    expect(load("").corsOrigins).toEqual([]);
    const origins = ["https://console.example.org", "http://localhost:5173", "https://[::1]:8443", "http://192.0.2.1"];
    expect(load(`cors: { origins: ${JSON.stringify(origins)} }`).corsOrigins).toEqual(origins);
  });

  it.each([
    ["*", "must look like"],
    ["null", "must look like"],
    ["https://*.example.org", "must look like"],
    ["https://a.example/", "must look like"],
    ["https://A.example", "must look like"],
    ["a.example", "must look like"],
    ["https://a.example:443", "browsers send https://a.example"],
    ["http://a.example:80", "browsers send http://a.example"],
    ["http://[0:0::1]", "browsers send http://[::1]"],
    ["https://127.1", "browsers send https://127.0.0.1"],
    ["https://a.example:99999", "browsers send no such origin"],
  ])("are refused: %s", (origin, message) => {
    expect(() => load(`cors: { origins: ["${origin}"] }`)).toThrow(message);
  });
});

describe("the settings file", () => {
  it("accepts the example of the documentation", () => {
    const readme = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");
    const example = /```yaml\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
    expect(example).toContain("notifications:");
    expect(faults(example)).toEqual([]);
  });

  it("accepts the example of a monitoring plugin", () => {
    const page = readFileSync(new URL("../../docs/monitoring.md", import.meta.url), "utf8");
    const example = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    expect(load(example).settings.health?.checks?.["backup_file"]).toMatchObject({ severity: "high" });
  });

  it("is overridden by the environment", () => {
    const text =
      "listen: 127.0.0.1:1\nstate_dir: /a\nlog: { level: warn }\nrate_limits: { per_minute: 5 }\njournal: { dir: /j }\n";
    expect(load(text)).toMatchObject({
      listen: { port: 1 },
      stateDir: "/a",
      logLevel: "warn",
      rateLimits: { perMinute: 5, perHour: 1000 },
    });
    const environment = {
      STEWARD_LISTEN: "[::1]:2",
      STEWARD_STATE_DIR: "/b",
      STEWARD_LOG_LEVEL: "debug",
      STEWARD_RATE_LIMITS: "off",
      STEWARD_JOURNAL_DIR: "/k",
    };
    expect(load(text, environment)).toMatchObject({
      listen: { host: "::1", port: 2 },
      stateDir: "/b",
      logLevel: "debug",
      rateLimits: "off",
      settings: { journal: { dir: "/k" } },
    });
  });

  it("is refused with every fault at its place", () => {
    const text = [
      "listen: 8470",
      "colour: blue",
      "rate_limits:",
      "  per_minute:  -1",
      '  per_hour: "many"',
      "log: { level: loud }",
      "metrics:   loopback",
      "tls: 5",
      "connectors:",
      "  list:",
      "    - { name: a, provider: skynet, model: x }",
      "    - { name: b, provider: ollama }",
      "health: { checks: { disk_space: { warm: 5 } } }",
      "",
    ].join("\n");
    expect(faults(text)).toEqual([
      "config.yaml:1:9: listen: must be a string",
      "config.yaml:2:1: colour: unknown setting",
      "config.yaml:4:16: rate_limits.per_minute: must be at least 1",
      "config.yaml:5:13: rate_limits.per_hour: must be an integer",
      "config.yaml:6:15: log.level: must be one of trace, debug, info, warn, error, fatal",
      "config.yaml:7:12: metrics: must be an object",
      "config.yaml:8:6: tls: must be an object, or must be one of off, auto",
      "config.yaml:11:28: connectors.list.0.provider: must be one of openai, anthropic, google, mistral, ollama, openai-compatible",
      "config.yaml:12:7: connectors.list.1: must have model",
      "config.yaml:13:35: health.checks.disk_space.warm: unknown setting (did you mean warn?)",
    ]);
  });

  it("is refused with every fault of a plugin at its place", () => {
    const text = [
      "health:",
      "  checks:",
      "    memory: { command: [/usr/bin/check] }",
      "    a: { command: [check, -w] }",
      "    b: { command: [/usr/bin/check], warn: 5, fail: 6, ignore: [] }",
      "    swap_usage: { name: Swap, severity: high }",
      "    nobody: { warn: 5 }",
      "    fine: { command: [/usr/bin/check, ''], name: Fine, severity: low, interval: 5m, timeout: 1h, enabled: true }",
      "    backup-age: { interval: 5m, timeout: 20s, enabled: true }",
      "",
    ].join("\n");
    expect(faults(text)).toEqual([
      "config.yaml:3:24: health.checks.memory.command: cannot be given: memory is a built-in check",
      "config.yaml:4:19: health.checks.a.command: must start with an absolute path, not check",
      "config.yaml:5:43: health.checks.b.warn: cannot be given for a plugin: put it into its command",
      "config.yaml:5:52: health.checks.b.fail: cannot be given for a plugin: put it into its command",
      "config.yaml:5:63: health.checks.b.ignore: cannot be given for a plugin: put it into its command",
      "config.yaml:6:25: health.checks.swap_usage.name: needs command: it can be given only for a plugin",
      "config.yaml:6:41: health.checks.swap_usage.severity: needs command: it can be given only for a plugin",
    ]);
    const checks = (entry: string) => faults(`health: { checks: { a: { ${entry} } } }`);
    expect(checks("command: []")).toEqual(["config.yaml:1:35: health.checks.a.command: must not be empty"]);
    expect(checks("command: /usr/bin/check")).toEqual(["config.yaml:1:35: health.checks.a.command: must be a list"]);
    expect(checks("command: [/usr/bin/check, 5]")).toEqual([
      "config.yaml:1:52: health.checks.a.command.1: must be a string",
    ]);
    expect(checks('command: [/usr/bin/check, "a\\0"]')).toHaveLength(1);
    expect(checks("command: [/usr/bin/check], severity: bad")).toEqual([
      "config.yaml:1:63: health.checks.a.severity: must be one of critical, high, medium, low",
    ]);
    expect(faults("health: { checks: { Backup-Age: { command: [/usr/bin/check] } } }")).toEqual([
      "config.yaml:1:21: health.checks.Backup-Age: unknown setting",
    ]);
  });

  it("is refused with every fault of a connector at its place", () => {
    const text = [
      "connectors:",
      "  default: nobody",
      "  discover: maybe",
      "  budgets: { tokens_per_day: 0, keys: { deploy: 1.5 } }",
      "  list:",
      "    - { name: -a, provider: ollama, model: x }",
      "    - { name: a/b, provider: ollama, model: x, api: legacy, timeout: 5 }",
      "    - { name: b, provider: ollama, model: x, api_key_env: A-B, api_key_credential: a/b }",
      "",
    ].join("\n");
    expect(faults(text)).toEqual([
      "config.yaml:3:13: connectors.discover: must be true or false",
      "config.yaml:4:30: connectors.budgets.tokens_per_day: must be at least 1",
      "config.yaml:4:49: connectors.budgets.keys.deploy: must be an integer",
      'config.yaml:6:15: connectors.list.0.name: must look like "local"',
      'config.yaml:7:15: connectors.list.1.name: must look like "local"',
      "config.yaml:7:53: connectors.list.1.api: must be one of chat, responses",
      "config.yaml:7:70: connectors.list.1.timeout: must be a string",
      'config.yaml:8:59: connectors.list.2.api_key_env: must look like "OPENAI_API_KEY"',
      'config.yaml:8:84: connectors.list.2.api_key_credential: must look like "openai-key"',
    ]);
  });

  it.each([
    ["a: [1", "config.yaml:1:"],
    ["a: 1\na: 2\n", "config.yaml:2:1: Map keys must be unique"],
    ["- a\n", "config.yaml:1:1: must be an object"],
    ["just text", "config.yaml:1:1: must be an object"],
    ["a: &x [1]\nb: *x\n", "config.yaml:2:4: aliases are not permitted"],
  ])("is refused as %j", (text, expected) => {
    expect(faults(text).join("\n")).toContain(expected);
  });

  it("is a fault when it is missing but was named", () => {
    expect(() =>
      loadConfig({
        file: join(directory, "nowhere.yaml"),
        environment: {},
        isRoot: true,
        builtInCheckIds: [],
      }),
    ).toThrow(/nowhere.yaml: cannot read the file/);
  });
});

describe("settings in the environment", () => {
  it.each([
    [{ STEWARD_LISTEN: "8470" }, "STEWARD_LISTEN: listen: must be host:port, not 8470"],
    [{ STEWARD_LISTEN: "127.0.0.1:99999" }, "STEWARD_LISTEN: listen: must be host:port, not 127.0.0.1:99999"],
    [{ STEWARD_LISTEN: "[1.2.3.4]:80" }, "STEWARD_LISTEN: listen: must be host:port, not [1.2.3.4]:80"],
    [{ STEWARD_LOG_LEVEL: "loud" }, "STEWARD_LOG_LEVEL: must be one of trace, debug, info, warn, error, fatal"],
    [{ STEWARD_RATE_LIMITS: "on" }, "STEWARD_RATE_LIMITS: must be off"],
  ])("are refused: %j", (environment, expected) => {
    expect(faults("", environment)).toEqual([expected]);
  });
});

describe("an address beyond loopback", () => {
  it.each(["0.0.0.0:8470", "192.0.2.1:1", "[::]:1", "example.org:1"])("such as %s needs a setting of tls", (listen) => {
    expect(faults(`listen: "${listen}"`).join()).toMatch(/tls: cannot listen on .* without TLS/);
    expect(load(`listen: "${listen}"\ntls: off`).warnings.join()).toMatch(/keys are sent unencrypted/);
    expect(load(`listen: "${listen}"\ntls: auto`).warnings).toEqual([]);
    expect(load(`listen: "${listen}"\ntls: { cert: /c, key: /k }`).tls).toEqual({ cert: "/c", key: "/k" });
  });

  it.each(["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1"])("is not %s", (listen) => {
    expect(load(`listen: "${listen}"`).tls).toBe("off");
  });
});

describe("settings of client certificates", () => {
  const pair = "cert: /c, key: /k";

  it("have a CA and whether they are required", () => {
    const tls = { cert: "/c", key: "/k", client_ca: "/a", client_certs: "required", client_crl: "/r" };
    expect(load(`tls: { ${pair}, client_ca: /a, client_certs: required, client_crl: /r }`).tls).toEqual(tls);
  });

  it.each([
    ["client_certs: required", /tls\.client_certs: needs client_ca/],
    ["client_crl: /r", /tls\.client_crl: needs client_ca/],
    ["client_ca: /a, client_certs: maybe", /tls/],
  ])("are refused with %s", (more, fault) => {
    expect(faults(`tls: { ${pair}, ${more} }`).join()).toMatch(fault);
  });
});
