import { isAbsolute } from "node:path";
import { defined } from "#kernel/values.ts";
import { type Fault, type FaultAt, faultIf, type SettingFaults } from "./faults.ts";
import type { ConnectorSettings, Settings } from "./settings.ts";
import { toMs } from "./text.ts";

type Entry = ConnectorSettings;

const keySettings = { api_key_env: "environment", api_key_file: "file", api_key_credential: "credential" } as const;
type KeySetting = keyof typeof keySettings;
const keyNames: readonly KeySetting[] = ["api_key_env", "api_key_file", "api_key_credential"];

const keySourceOf = (entry: Entry) =>
  keyNames.flatMap((setting) => {
    const name = entry[setting];
    return name === undefined ? [] : [{ from: keySettings[setting], name }];
  })[0];

export function connectorSettings({ connectors = {} }: Pick<Settings, "connectors">) {
  const { default: name, list = [], discover = true, budgets = {} } = connectors;
  return {
    ...defined({ default: name }),
    list: list.map((entry) => ({
      name: entry.name,
      provider: entry.provider,
      model: entry.model,
      ...defined({ baseUrl: entry.base_url, key: keySourceOf(entry), api: entry.api, tokenLimit: entry.token_limit }),
      ...(entry.timeout !== undefined && { timeoutMs: toMs(entry.timeout) }),
    })),
    discovers: discover,
    budgets: { ...defined({ tokensPerDay: budgets.tokens_per_day }), keys: budgets.keys ?? {} },
  };
}

/** Whether a host is a link-local address; names are not resolved. */
const isLinkLocal = (host: string): boolean =>
  /^169\.254\.\d{1,3}\.\d{1,3}$|^\[fe[89ab][0-9a-f]:|^\[::ffff:a9fe:|^\[64:ff9b::a9fe:/.test(host);

/** Providers whose key is in the same header as the credentials of a URL. */
const bearers: readonly string[] = ["openai", "mistral"];

/** What is wrong with an address, without repeating credentials in it. */
function addressFault({ base_url: text, provider, ...entry }: Entry): string | undefined {
  if (text === undefined) return provider === "openai-compatible" ? "is required for openai-compatible" : undefined;
  if (!URL.canParse(text)) return "must be an address such as http://127.0.0.1:8080/v1";
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if (protocol !== "http:" && protocol !== "https:") return `must start with http:// or https://, not ${protocol}`;
  if (isLinkLocal(hostname)) return `cannot be used: ${hostname} is a link-local address`;
  if (search !== "" || hash !== "") return "must not have a query or fragment (? or #): these are not sent";
  const hasKey = bearers.includes(provider) || keyNames.some((setting) => entry[setting] !== undefined);
  if ((username !== "" || password !== "") && provider !== "anthropic" && provider !== "google" && hasKey) {
    return "cannot contain a user name or a password if there is a key: both are sent in the same header";
  }
  return undefined;
}

function entryFaults(entry: Entry): SettingFaults {
  const [, ...others] = keyNames.filter((setting) => entry[setting] !== undefined);
  const address = addressFault(entry);
  const { api_key_file: file, api_key_credential: credential } = entry;
  const isForeignApi = entry.api !== undefined && entry.provider !== "openai";
  const isForeignLimit = entry.token_limit !== undefined && entry.provider !== "openai-compatible";
  return [
    ...faultIf(isForeignLimit, "token_limit", `cannot be given for ${entry.provider}: its parameter name is fixed`),
    ...faultIf(address !== undefined, "base_url", address ?? ""),
    ...others.flatMap((setting) =>
      faultIf(true, setting, "cannot be given: a connector can have only one source of its key"),
    ),
    ...faultIf(file !== undefined && !isAbsolute(file), "api_key_file", "must be an absolute path"),
    ...faultIf(credential === "." || credential === "..", "api_key_credential", "is not a valid name"),
    ...faultIf(isForeignApi, "api", `cannot be given for ${entry.provider}: only openai has two interfaces`),
  ];
}

const discovered: readonly string[] = ["openai", "anthropic", "google", "mistral", "ollama"];

export function connectorFaults({ connectors = {} }: Pick<Settings, "connectors">, faultAt: FaultAt): readonly Fault[] {
  const { default: name, list = [], discover = true } = connectors;
  const names = list.map((entry) => entry.name);
  const known = [...names, ...(discover ? discovered : [])];
  return [
    ...(name === undefined || known.includes(name)
      ? []
      : [faultAt(["connectors", "default"], `there is no connector ${name} in the list`)]),
    ...list.flatMap((entry, index) => {
      const at = (setting: string, message: string): Fault =>
        faultAt(["connectors", "list", String(index), setting], message);
      const isTaken = names.indexOf(entry.name) < index;
      return [
        ...(isTaken ? [at("name", `there is another connector ${entry.name}`)] : []),
        ...entryFaults(entry).map(([setting, message]) => at(setting, message)),
      ];
    }),
  ];
}
