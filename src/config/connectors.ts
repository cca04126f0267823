import { isAbsolute } from "node:path";
import type { Fault } from "./faults.ts";
import type { ConnectorSettings, Settings } from "./settings.ts";
import { toMs } from "./time.ts";

type Entry = ConnectorSettings;

const keySettings = { api_key_env: "environment", api_key_file: "file", api_key_credential: "credential" } as const;
type KeySetting = keyof typeof keySettings;
const keyNames: readonly KeySetting[] = ["api_key_env", "api_key_file", "api_key_credential"];

const keySourceOf = (entry: Entry) =>
  keyNames.flatMap((setting) => {
    const name = entry[setting];
    return name === undefined ? [] : [{ from: keySettings[setting], name }];
  })[0];

/** What the settings say of connectors, with times in milliseconds. */
export function connectorSettings({ connectors = {} }: Pick<Settings, "connectors">) {
  const { default: name, list = [], discover = true, budgets = {} } = connectors;
  return {
    ...(name !== undefined && { default: name }),
    list: list.map((entry) => {
      const key = keySourceOf(entry);
      return {
        name: entry.name,
        provider: entry.provider,
        model: entry.model,
        ...(entry.base_url !== undefined && { baseUrl: entry.base_url }),
        ...(key !== undefined && { key }),
        ...(entry.api !== undefined && { api: entry.api }),
        ...(entry.timeout !== undefined && { timeoutMs: toMs(entry.timeout) }),
      };
    }),
    discovers: discover,
    budgets: {
      ...(budgets.tokens_per_day !== undefined && { tokensPerDay: budgets.tokens_per_day }),
      keys: budgets.keys ?? {},
    },
  };
}

/** The address of a provider: only as far as the form of an address shows it, without asking for names. */
const isLinkLocal = (host: string): boolean =>
  /^169\.254\.\d{1,3}\.\d{1,3}$|^\[fe[89ab][0-9a-f]:|^\[::ffff:a9fe:|^\[64:ff9b::a9fe:/.test(host);

/** Providers whose key travels in the same header as credentials of an address. */
const bearers: readonly string[] = ["openai", "mistral"];

/** What is wrong with an address; undefined when nothing is. Credentials in it are not repeated. */
function addressFault({ base_url: text, provider, ...entry }: Entry): string | undefined {
  if (text === undefined) return provider === "openai-compatible" ? "has to be given for openai-compatible" : undefined;
  if (!URL.canParse(text)) return "must be an address such as http://127.0.0.1:8080/v1";
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if (protocol !== "http:" && protocol !== "https:") return `must begin with http:// or https://, not ${protocol}`;
  if (isLinkLocal(hostname)) return `cannot be used: ${hostname} is a link-local address`;
  if (search !== "" || hash !== "") return "must end with its path: what follows ? or # is not sent";
  const hasKey = bearers.includes(provider) || keyNames.some((setting) => entry[setting] !== undefined);
  if ((username !== "" || password !== "") && provider !== "anthropic" && provider !== "google" && hasKey) {
    return "cannot bear a user name or a password where there is a key: both are sent in the same header";
  }
  return undefined;
}

/** What is wrong with one connector, by the setting. */
function entryFaults(entry: Entry): readonly (readonly [setting: string, message: string])[] {
  const [, ...others] = keyNames.filter((setting) => entry[setting] !== undefined);
  const address = addressFault(entry);
  const { api_key_file: file, api_key_credential: credential } = entry;
  return [
    ...(address === undefined ? [] : [["base_url", address] as const]),
    ...others.map((setting) => [setting, "cannot be given: a connector has one key"] as const),
    ...(file === undefined || isAbsolute(file) ? [] : [["api_key_file", "must be an absolute path"] as const]),
    ...(credential === "." || credential === ".." ? [["api_key_credential", "is not a name"] as const] : []),
    ...(entry.api !== undefined && entry.provider !== "openai"
      ? [["api", `cannot be given for ${entry.provider}: only openai has two`] as const]
      : []),
  ];
}

/** Names of connectors that may be found without being listed. */
const discovered: readonly string[] = ["openai", "anthropic", "google", "mistral", "ollama"];

/** What is wrong with connectors that have the right form each, but do not go together. */
export function connectorFaults(
  { connectors = {} }: Pick<Settings, "connectors">,
  faultAt: (path: readonly string[], message: string) => Fault,
): readonly Fault[] {
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
