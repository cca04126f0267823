import { apiBase } from "#contract/limits.ts";
import { isRecord } from "#kernel/values.ts";
import { eventsIn } from "./events.ts";
import { addressOf } from "./http.ts";
import { toApiError } from "./index.ts";

export interface McpOptions {
  readonly url: string;
  readonly key?: string | undefined;
  readonly fetch?: typeof globalThis.fetch;
  readonly signal?: AbortSignal;
  /** Names of sets of tools, with commas. */
  readonly toolsets?: string | undefined;
  /** The revision that a handshake has agreed on; requests of 2026 name theirs themselves. */
  readonly revision?: string | undefined;
}

const revisionMember = "io.modelcontextprotocol/protocolVersion";

/** What the headers of a message repeat of it since the revision of 2026. */
function headersOf(message: Readonly<Record<string, unknown>>, agreed: string | undefined): Record<string, string> {
  const { method, params } = message;
  const { _meta: meta, name, uri } = isRecord(params) ? params : {};
  const own = isRecord(meta) ? meta[revisionMember] : undefined;
  if (typeof own !== "string") return agreed === undefined ? {} : { "MCP-Protocol-Version": agreed };
  const named = typeof name === "string" ? name : uri;
  return {
    "MCP-Protocol-Version": own,
    ...(typeof method === "string" && { "Mcp-Method": method }),
    ...(typeof named === "string" && { "Mcp-Name": headerText(named) }),
  };
}

/** A text as a header may have it: what is not plain ASCII is coded, as the protocol says. */
const headerText = (text: string): string =>
  /^[!-~]+(?: [!-~]+)*$/.test(text) && !text.startsWith("=?base64?")
    ? text
    : `=?base64?${btoa(String.fromCodePoint(...new TextEncoder().encode(text)))}?=`;

/**
 * Sends a message of the Model Context Protocol to the service.
 * @returns the messages of the answer as JSON, as they come; none for a notification.
 * @throws ApiError when the service refuses; errors of `fetch` when it cannot be reached.
 */
export async function* sendMcp(
  options: McpOptions,
  message: Readonly<Record<string, unknown>>,
): AsyncGenerator<string, void, undefined> {
  const { url, key, fetch = globalThis.fetch, signal, toolsets, revision } = options;
  const target = addressOf(url, `${apiBase}/mcp`);
  if (toolsets !== undefined) target.searchParams.set("toolsets", toolsets);
  const response = await fetch(target, {
    method: "POST",
    redirect: "error",
    headers: {
      ...(key !== undefined && { "X-API-Key": key }),
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      ...headersOf(message, revision),
    },
    body: JSON.stringify(message),
    ...(signal && { signal }),
  });
  if (response.headers.get("Content-Type")?.startsWith("text/event-stream") && response.body !== null) {
    for await (const { data } of eventsIn(response.body)) if (data !== "") yield data;
    return;
  }
  const text = await response.clone().text();
  // Refusals of the protocol itself are messages, whatever their status.
  if (text.includes('"jsonrpc"')) yield text;
  else if (!response.ok) throw await toApiError(response);
}
