import type { IncomingHttpHeaders } from "node:http";
import { createServer } from "node:http";

/** A provider of language models on loopback with the API of OpenAI's, that answers always the same. */
export interface StubProvider {
  readonly url: string;
  readonly requests: () => readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  readonly close: () => Promise<void>;
}

const choice = (member: "message" | "delta", content: string, finish: string | null) => ({
  id: "1",
  created: 1,
  model: "stub-model-1",
  choices: [{ index: 0, [member]: { role: "assistant", content }, finish_reason: finish }],
});
const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

export async function startStubProvider(answer: string): Promise<StubProvider> {
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    request.on("end", () => {
      requests.push({ path: request.url ?? "", headers: request.headers });
      if (request.method === "GET") {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ object: "list", data: [{ id: "stub-model", object: "model" }] }));
        return;
      }
      if (!/"stream":\s*true/.test(body)) {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ object: "chat.completion", ...choice("message", answer, "stop"), usage }));
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      const object = "chat.completion.chunk";
      for (const chunk of [
        { object, ...choice("delta", answer, null) },
        { object, ...choice("delta", "", "stop") },
        { object, ...choice("delta", "", null), choices: [], usage },
      ])
        response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      response.end("data: [DONE]\n\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests: () => requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
