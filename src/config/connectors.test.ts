import { describe, expect, it } from "vitest";
import { connectorFaults, connectorSettings } from "./connectors.ts";
import type { ConnectorSettings, Settings } from "./settings.ts";

const entry = (fields: Partial<ConnectorSettings> = {}): ConnectorSettings => ({
  name: "mine",
  provider: "ollama",
  model: "llama3.2",
  ...fields,
});

describe("settings of connectors", () => {
  it("become connectors with their keys, budgets and timeouts", () => {
    expect(connectorSettings({})).toEqual({ list: [], discovers: true, budgets: { keys: {} } });
    const connectors: NonNullable<Settings["connectors"]> = {
      default: "a",
      discover: false,
      budgets: { tokens_per_day: 1000, keys: { deploy: 5 } },
      list: [
        entry({ name: "a", base_url: "http://127.0.0.1:1", timeout: "5m" }),
        entry({ name: "b", provider: "openai", api: "responses", api_key_env: "KEY" }),
        entry({ name: "c", api_key_file: "/etc/key" }),
        entry({ name: "d", api_key_credential: "key" }),
      ],
    };
    expect(connectorSettings({ connectors })).toEqual({
      default: "a",
      list: [
        { name: "a", provider: "ollama", model: "llama3.2", baseUrl: "http://127.0.0.1:1", timeoutMs: 300_000 },
        {
          name: "b",
          provider: "openai",
          model: "llama3.2",
          api: "responses",
          key: { from: "environment", name: "KEY" },
        },
        { name: "c", provider: "ollama", model: "llama3.2", key: { from: "file", name: "/etc/key" } },
        { name: "d", provider: "ollama", model: "llama3.2", key: { from: "credential", name: "key" } },
      ],
      discovers: false,
      budgets: { tokensPerDay: 1000, keys: { deploy: 5 } },
    });
  });
});

describe("faults in settings of connectors", () => {
  const faults = (connectors: NonNullable<Settings["connectors"]>) =>
    connectorFaults({ connectors }, (path, message) => ({ source: "", path: path.join("."), message })).map(
      ({ path, message }) => `${path}: ${message}`,
    );
  const faultsOf = (fields: Partial<ConnectorSettings>) =>
    faults({ list: [entry(fields)] }).map((fault) => fault.replace("connectors.list.0.", ""));

  it.each([
    [{ base_url: "http://127.0.0.1:11434" }],
    [{ base_url: "https://me:secret@example.org/v1/" }],
    [{ provider: "anthropic", base_url: "https://me:secret@example.org", api_key_env: "KEY" }],
    [{ provider: "openai", api: "responses" }],
    [{ provider: "openai-compatible", base_url: "http://192.0.2.1:8080/v1" }],
    [{ base_url: "http://169.255.0.1" }],
    [{ base_url: "http://169.254.example.org" }],
  ] as const)("are not found in %j", (fields) => {
    expect(faultsOf(fields)).toEqual([]);
  });

  it.each([
    [{ provider: "openai-compatible" }, "base_url: is required for openai-compatible"],
    [{ base_url: "127.0.0.1:8080" }, "base_url: must be an address such as http://127.0.0.1:8080/v1"],
    [{ base_url: "ftp://example.org" }, "base_url: must start with http:// or https://, not ftp:"],
    [{ base_url: "localhost:8080" }, "base_url: must start with http:// or https://, not localhost:"],
    [{ base_url: "http://a/v1?key=1" }, "base_url: must not have a query or fragment (? or #): these are not sent"],
    [{ base_url: "http://169.254.169.254" }, "base_url: cannot be used: 169.254.169.254 is a link-local address"],
    [{ base_url: "http://2852039166/" }, "base_url: cannot be used: 169.254.169.254 is a link-local address"],
    [{ base_url: "http://[fe80::1]" }, "base_url: cannot be used: [fe80::1] is a link-local address"],
    [
      { base_url: "http://[::ffff:169.254.1.1]" },
      "base_url: cannot be used: [::ffff:a9fe:101] is a link-local address",
    ],
    [{ api: "chat" }, "api: cannot be given for ollama: only openai has two interfaces"],
    [{ api_key_file: "key" }, "api_key_file: must be an absolute path"],
    [{ api_key_credential: ".." }, "api_key_credential: is not a valid name"],
    [
      { api_key_env: "A", api_key_credential: "b" },
      "api_key_credential: cannot be given: a connector can have only one source of its key",
    ],
  ] as const)("are found in %j", (fields, expected) => {
    expect(faultsOf(fields)).toEqual([expected]);
  });

  it("do not contain credentials of an address", () => {
    for (const fields of [
      { base_url: "https://me:secret@example.org", provider: "openai" },
      { base_url: "https://me:secret@example.org", api_key_env: "KEY" },
      { base_url: "https://me:secret@169.254.1.1" },
      { base_url: "https://me:secret@" },
      { base_url: "me:secret@example.org" },
    ] as const) {
      const found = faultsOf(fields);
      expect(found).toHaveLength(1);
      expect(found.join()).not.toContain("secret");
    }
  });

  it("include unknown defaults and duplicate names", () => {
    const list = [entry({ name: "a" }), entry({ name: "b" }), entry({ name: "a" })];
    expect(faults({ default: "c", list })).toEqual([
      "connectors.default: there is no connector c in the list",
      "connectors.list.2.name: there is another connector a",
    ]);
    expect(faults({ default: "b", list: list.slice(0, 2) })).toEqual([]);
    expect(faults({ default: "anthropic" })).toEqual([]);
    expect(faults({ default: "anthropic", discover: false })).toEqual([
      "connectors.default: there is no connector anthropic in the list",
    ]);
  });
});
