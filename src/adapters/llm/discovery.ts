import http, { type IncomingMessage, type RequestOptions } from "node:http";
import https from "node:https";
import type { ConnectorDefinition, ConnectorDiscovery } from "#domain/ports/connectors.ts";
import { recordsIn } from "#kernel/values.ts";
import { fieldOf, nonEmptyString } from "./failures.ts";
import type { FetchLimits } from "./fetch.ts";
import { type ConnectorSettings, defineConnector } from "./plan.ts";
import type { Environment } from "./secrets.ts";

const maxBytes = 8 * 1024 * 1024;

const open = (url: URL, options: RequestOptions): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const get = url.protocol === "https:" ? https.get : http.get;
    get(url, options, resolve).on("error", reject);
  });

/** With Node's own client: each probe asks, and most hosts need no other. @returns undefined unless it succeeds. */
async function getFromLoopback(
  url: string,
  { headers = {}, signal }: { readonly headers?: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<unknown> {
  signal.throwIfAborted();
  // A connection of its own each time: between two probes there is nothing to keep one open for.
  const response = await open(new URL(url), {
    agent: false,
    headers: { ...headers, accept: "application/json", "user-agent": "steward" },
    signal,
  });
  if (response.statusCode !== 200) {
    response.destroy();
    return undefined;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.iterator({ destroyOnReturn: true })) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > maxBytes) throw new Error("the answer is too long");
    chunks.push(piece);
  }
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

const defaultPort = 11_434;
const timeoutMs = 2_000;

const hostForm = /^(?:(https?):\/\/)?(\[[0-9a-fA-F:]+\]|[^:/?#@\s]*)(?::(\d{1,5}))?(\/[^?#\s]*)?$/;
const everywhere: Readonly<Record<string, string>> = { "": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]" };

/** From `OLLAMA_HOST` as Ollama reads it; undefined for another machine. */
export function ollamaAddress(host: string | undefined): string | undefined {
  const match = hostForm.exec((host ?? "").trim());
  if (match === null) return undefined;
  const [, scheme = "http", address = "", port = defaultPort, path = ""] = match;
  const name = everywhere[address] ?? address;
  const isLoopback = name === "localhost" || name === "[::1]" || /^127(\.\d{1,3}){3}$/.test(name);
  const url = `${scheme}://${name}:${port}${path.replace(/\/+$/, "")}`;
  return isLoopback && URL.canParse(url) ? url : undefined;
}

const firstModel = (listing: unknown): string | undefined =>
  recordsIn(fieldOf(listing, "models"))
    .filter(({ details }) => !/bert/i.test(nonEmptyString(fieldOf(details, "family")) ?? ""))
    .flatMap(({ name }) => nonEmptyString(name) ?? [])
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
    // Nothing listens there, or something else does: that is not a connector, and no fault.
    return undefined;
  }
}

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
      if (last?.model !== model) {
        last = defineConnector({ name: "ollama", provider: "ollama", model, baseUrl: address }, environment, limits);
      }
      return [last];
    },
  };
}
