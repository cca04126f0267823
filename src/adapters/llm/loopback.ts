import { get, type IncomingMessage, type RequestOptions } from "node:http";

const maxBytes = 8 * 1024 * 1024;

async function open(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const begin = url.protocol === "https:" ? (await import("node:https")).get : get;
  begin(url, options, resolve).on("error", reject);
  return promise;
}

/**
 * Asks a server on this machine for JSON. With what Node has at hand: the question goes out with every probe, and most hosts
 * have nothing else to ask, for which the client of the providers would have to be loaded.
 * @returns undefined for an answer that is no success.
 * @throws Error where there is none, none in time, too much of it or no JSON.
 */
export async function getFromLoopback(
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
