import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { until } from "./until.ts";

/** A model server on this machine that speaks OpenAI's chat format, as many local ones do. */
export interface ModelServer {
  /** `http://127.0.0.1:<port>/v1` */
  readonly url: string;
  readonly model: string;
  /** What it was sent: header lines and bodies. */
  readonly received: () => readonly string[];
  /** The headers of each request. */
  readonly headers: () => readonly IncomingHttpHeaders[];
  /** How many chats were asked for, and how many of them were hung up on before their end. */
  readonly chats: () => number;
  readonly hungUp: () => number;
  /** How it answers from now on: well; not before it is asked to; or with an error that repeats everything that it was sent. */
  mode: "well" | "held" | "echoing";
  readonly release: () => void;
  readonly close: () => Promise<void>;
}

const model = "tiny-1";
const usage = { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 };
const usualWords = ["All ", "is ", "well"];

/** Answers of a model that calls itself so. */
function answersOf(servedAs: string, words: readonly string[]) {
  const common = { id: "chat-1", created: 1_700_000_000, model: servedAs };
  return {
    whole: (message: object = { content: words.join("") }) => ({
      ...common,
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }],
      usage,
    }),
    chunk: (delta: object, reason: string | null = null) => ({
      ...common,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: reason }],
    }),
  };
}

/**
 * @param options.words what it says, in the pieces of a stream.
 * @param options.messageTo what it says to a request that is not for a stream, in place of the words.
 * @param options.servedAs the model as it names it in its answers.
 */
export async function startModelServer({
  words = usualWords,
  servedAs = model,
  messageTo = () => undefined,
}: {
  readonly messageTo?: (request: Readonly<Record<string, unknown>>) => object | undefined | Promise<object>;
  readonly words?: readonly string[];
  readonly servedAs?: string;
} = {}): Promise<ModelServer> {
  const { whole, chunk } = answersOf(servedAs, words);
  const received: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let chats = 0;
  let hungUp = 0;
  let held = Promise.withResolvers<void>();

  const answerJson = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  };

  const chat = async (body: string, response: ServerResponse): Promise<void> => {
    chats += 1;
    response.once("close", () => {
      if (!response.writableFinished) hungUp += 1;
    });
    const asked = JSON.parse(body) as Record<string, unknown>;
    if (asked["stream"] !== true) {
      if (server.mode === "held") await held.promise;
      return answerJson(response, 200, whole(await messageTo(asked)));
    }
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const write = (data: object | string): void =>
      void response.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
    write(chunk({ role: "assistant", content: words[0] }));
    if (server.mode === "held") await held.promise;
    for (const content of words.slice(1)) write(chunk({ content }));
    write(chunk({}, "stop"));
    write({ ...chunk({}), choices: [], usage });
    write("[DONE]");
    response.end();
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const seen = [`${request.method} ${request.url}`, ...request.rawHeaders, body].join("\n");
    received.push(seen);
    headers.push(request.headers);
    if (server.mode === "echoing")
      return answerJson(response, 401, { error: { message: `Bad key in: ${seen}`, code: seen } });
    if (request.url === "/v1/chat/completions") return chat(body, response);
    if (request.url === "/v1/models")
      return answerJson(response, 200, { object: "list", data: [{ id: model, object: "model" }] });
    answerJson(response, 404, { error: { message: "no such path" } });
  };

  const listener = createServer((request, response) => {
    // A client that hung up cannot get anything.
    handle(request, response).catch(() => response.destroy());
  });
  listener.listen(0, "127.0.0.1");
  const address = await until("an address", () => listener.address() ?? undefined);
  if (typeof address === "string") throw new Error("not a TCP address");
  const server: ModelServer = {
    url: `http://127.0.0.1:${address.port}/v1`,
    model,
    received: () => received,
    headers: () => headers,
    chats: () => chats,
    hungUp: () => hungUp,
    mode: "well",
    release() {
      server.mode = "well";
      held.resolve();
      held = Promise.withResolvers();
    },
    close() {
      listener.closeAllConnections();
      return new Promise((resolve) => listener.close(() => resolve()));
    },
  };
  return server;
}
