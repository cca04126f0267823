import type { ConnectorDefinition, ConnectorDiscovery } from "#domain/ports/connectors.ts";
import { recordsIn } from "#kernel/values.ts";
import type { FetchLimits } from "./fetch.ts";
import { fieldOf, textOf } from "./json.ts";
import { getFromLoopback } from "./loopback.ts";
import { type ConnectorSettings, defineConnector } from "./plan.ts";
import type { Environment } from "./secrets.ts";

const defaultPort = 11_434;
const timeoutMs = 2_000;

/** Scheme, host, port and path of `OLLAMA_HOST`, each of which may be left out. */
const hostForm = /^(?:(https?):\/\/)?(\[[0-9a-fA-F:]+\]|[^:/?#@\s]*)(?::(\d{1,5}))?(\/[^?#\s]*)?$/;
const everywhere: Readonly<Record<string, string>> = { "": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]" };

/**
 * Where an Ollama on this machine listens, from `OLLAMA_HOST` as its own programs read it; undefined when that names
 * another machine.
 */
export function ollamaAddress(host: string | undefined): string | undefined {
  const match = hostForm.exec((host ?? "").trim());
  if (match === null) return undefined;
  const [, scheme = "http", address = "", port = defaultPort, path = ""] = match;
  const name = everywhere[address] ?? address;
  const isLoopback = name === "localhost" || name === "[::1]" || /^127(\.\d{1,3}){3}$/.test(name);
  const url = `${scheme}://${name}:${port}${path.replace(/\/+$/, "")}`;
  return isLoopback && URL.canParse(url) ? url : undefined;
}

/** The first model of a listing that can talk: others turn text into numbers. */
const firstModel = (listing: unknown): string | undefined =>
  recordsIn(fieldOf(listing, "models"))
    .filter(({ details }) => !/bert/i.test(textOf(fieldOf(details, "family")) ?? ""))
    .flatMap(({ name }) => textOf(name) ?? [])
    .find((name) => !/embed/i.test(name));

async function askOllama(
  address: string,
  { headers, headersMs = timeoutMs }: Partial<FetchLimits>,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const listing = await getFromLoopback(`${address}/api/tags`, {
      headers: headers?.() ?? {},
      signal: AbortSignal.any([signal, AbortSignal.timeout(Math.min(timeoutMs, headersMs))]),
    });
    return firstModel(listing);
  } catch {
    // Nothing listens there, or something else does: that is no connector, and no fault.
    return undefined;
  }
}

/** Finds an Ollama on this machine, unless the settings have one or say not to look. */
export function createDiscovery(
  { list, discovers }: ConnectorSettings,
  environment: Environment,
  limits: Partial<FetchLimits> = {},
): ConnectorDiscovery {
  const address = ollamaAddress(environment["OLLAMA_HOST"]);
  const isKnown = list.some(({ name, provider }) => provider === "ollama" || name === "ollama");
  let last: ConnectorDefinition | undefined;
  return {
    async find(signal) {
      if (address === undefined || isKnown || !discovers) return [];
      const model = await askOllama(address, limits, signal);
      if (model === undefined) return [];
      // The same connector as long as it has the same model, connections and all.
      if (last?.model !== model) {
        last = defineConnector({ name: "ollama", provider: "ollama", model, baseUrl: address }, environment, limits);
      }
      return [last];
    },
  };
}
