// Runs inside the host of the demo: node model-server.ts PORT. Speaks OpenAI's chat format on loopback.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { errorMessage } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";
import { type AskedMessage, answerTo, piecesOf } from "./model-answer.ts";

const model = "demo-1";
const mostBytes = 1024 * 1024;
/** About as fast as a model writes. */
const pieceMs = 30;

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error("cannot read the request: it is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The text of a message, which may come in parts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isRecord(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

function messagesOf(body: unknown): readonly AskedMessage[] {
  const list = isRecord(body) ? body["messages"] : undefined;
  if (!Array.isArray(list)) return [];
  return list.filter(isRecord).map(({ role, content }) => ({ role: String(role), content: textOf(content) }));
}

const common = () => ({ id: "chat-demo", created: Math.floor(Date.now() / 1000), model });
const tokens = (text: string): number => Math.ceil(text.length / 4);

function usageOf(messages: readonly AskedMessage[], answer: string) {
  const asked = messages.reduce((sum, { content }) => sum + tokens(content), 0);
  return { prompt_tokens: asked, completion_tokens: tokens(answer), total_tokens: asked + tokens(answer) };
}

async function stream(response: ServerResponse, answer: string, usage: object): Promise<void> {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const write = (data: object): void => {
    response.write(`data: ${JSON.stringify({ ...common(), object: "chat.completion.chunk", ...data })}\n\n`);
  };
  const choice = (delta: object, reason: string | null) => ({ choices: [{ index: 0, delta, finish_reason: reason }] });
  write(choice({ role: "assistant", content: "" }, null));
  for (const content of piecesOf(answer)) {
    if (response.destroyed) return;
    write(choice({ content }, null));
    await sleep(pieceMs);
  }
  write(choice({}, "stop"));
  write({ choices: [], usage });
  response.end("data: [DONE]\n\n");
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

async function chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body: unknown = JSON.parse(await readBody(request));
  const messages = messagesOf(body);
  const answer = answerTo(messages);
  const usage = usageOf(messages, answer);
  if (isRecord(body) && body["stream"] === true) return stream(response, answer, usage);
  const message = { role: "assistant", content: answer };
  reply(response, 200, {
    ...common(),
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage,
  });
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === "POST" && request.url === "/v1/chat/completions") return chat(request, response);
  if (request.url === "/v1/models")
    return reply(response, 200, { object: "list", data: [{ id: model, object: "model" }] });
  reply(response, 404, { error: { message: "no such path" } });
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    const message = errorMessage(error);
    if (response.headersSent) response.destroy();
    else reply(response, 400, { error: { message } });
  });
});
server.maxConnections = 20;
server.requestTimeout = 30_000;
server.listen(Number(process.argv[2]), "127.0.0.1");
