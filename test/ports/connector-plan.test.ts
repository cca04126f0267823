import { execFile } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { type ConnectorEntry, createConnectorPlan } from "#adapters/llm/plan.ts";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import { connectorSettings } from "#config/connectors.ts";
import { loadConfig } from "#config/load.ts";
import { answerJson, type Captured, withCaptureServer } from "./support/capture-server.ts";
import { directoryPerTest } from "./support/directories.ts";
import { answers, spoken } from "./support/provider-answers.ts";
import { ask, everyProvider, failureOf, never, plantedKey, providerAt } from "./support/providers.ts";

const at = directoryPerTest();

/** The plan of a settings file, on its way from the text to what is used. */
function planOf(text: string, environment: Readonly<Record<string, string>> = {}) {
  const file = at("config.yaml");
  writeFileSync(file, text);
  const { settings } = loadConfig({ file, environment: {}, isRoot: true, builtInCheckIds: [] });
  return createConnectorPlan(connectorSettings(settings), environment);
}

it("the example of the settings in the documentation makes connectors", () => {
  const page = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");
  const { connectors, ...plan } = planOf(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "");
  expect(plan.default).toBe("local");
  expect(connectors).toMatchObject([
    { name: "local", provider: "Ollama" },
    { name: "claude", provider: "Anthropic", access: { missing: "ANTHROPIC_API_KEY is not set" } },
  ]);
});

/** The only provider of a plan. */
function providerOf({ connectors: [connector] }: ReturnType<typeof planOf>) {
  if (connector === undefined || !("provider" in connector.access)) throw new Error("it is not ready");
  return connector.access.provider;
}

describe("a provider on this machine", () => {
  it.each([["ollama"], ["openai-compatible"]])("needs nothing but its address: %s", (provider) =>
    withCaptureServer(
      ({ method, path }, response) => {
        if (method === "POST") return answerJson(response, answers.chatCompletions.whole);
        const models = [{ id: "model-1", name: "model-1" }];
        return answerJson(response, path === "/api/tags" ? { models } : { data: models });
      },
      async ({ url, requests }) => {
        const entry = `{ name: a, provider: ${provider}, model: model-1, base_url: "${url}" }`;
        const made = providerOf(planOf(`connectors: { list: [${entry}] }`));
        await made.probe(never);
        expect((await made.chat(ask("hello"), never)).content).toBe(spoken.text);
        for (const { headers } of requests) expect(headers).not.toHaveProperty("authorization");
      },
    ),
  );
});

describe("the key of a provider", () => {
  it.each([
    ["environment", "api_key_env: THE_KEY"],
    ["file", "api_key_file: DIRECTORY/key"],
    ["credential", "api_key_credential: key"],
  ])("is sent from its %s", (_, setting) =>
    withCaptureServer(
      (__, response) => answerJson(response, answers.anthropic.whole),
      async ({ url, requests }) => {
        writeFileSync(at("key"), "sk-from-somewhere\n");
        chmodSync(at("key"), 0o600);
        const entry = `{ name: a, provider: anthropic, model: m, base_url: "${url}", ${setting.replace("DIRECTORY", at())} }`;
        const environment = { THE_KEY: "sk-from-somewhere", CREDENTIALS_DIRECTORY: at() };
        await providerOf(planOf(`connectors: { list: [${entry}] }`, environment)).chat(ask("hello"), never);
        expect(requests[0]?.headers["x-api-key"]).toBe("sk-from-somewhere");
      },
    ),
  );
});

it("the certificate of a provider is trusted when NODE_EXTRA_CA_CERTS vouches for it", async () => {
  const tls = await selfSignedPair({ stateDir: at(), now: Date.now() });
  const trusted = at("ca.pem");
  writeFileSync(trusted, tls.cert);
  await withCaptureServer(
    (_, response) => answerJson(response, answers.chatCompletions.whole),
    async ({ url }) => {
      const program = `
        import { createConnectorPlan } from "#adapters/llm/plan.ts";
        const entry = { name: "a", provider: "openai-compatible", model: "m", baseUrl: "${url}" };
        const plan = createConnectorPlan({ list: [entry], discovers: false, budgets: { keys: {} } }, {});
        const call = { messages: [{ role: "user", content: "hello" }] };
        const reply = await plan.connectors[0].access.provider.chat(call, new AbortController().signal);
        process.stdout.write(reply.content);`;
      const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
        cwd: new URL("../..", import.meta.url),
        env: { ...process.env, NODE_EXTRA_CA_CERTS: trusted },
      });
      expect(stdout).toBe(spoken.text);
    },
    tls,
  );
});

type Entry = Pick<ConnectorEntry, "provider"> & Partial<ConnectorEntry>;
const models = (...ids: string[]) => ({ object: "list", data: ids.map((id) => ({ id, object: "model" })) });

/** Probes at a server that answers as set, and gives what was asked and how it went. */
async function probeAt(
  entry: Entry,
  answer: (request: Captured, response: ServerResponse) => void,
): Promise<{
  readonly asked: readonly string[];
  readonly headers: readonly object[];
  readonly message: string | undefined;
}> {
  const asked: string[] = [];
  const headers: object[] = [];
  let message: string | undefined;
  await withCaptureServer(answer, async ({ url, requests }) => {
    message = await providerAt(url, entry)
      .probe(never)
      .then(() => undefined)
      .catch((error: unknown) => String(error).replace("ProviderFailed: ", ""));
    for (const request of requests) {
      asked.push(`${request.method} ${request.path}`);
      headers.push(request.headers);
    }
  });
  return { asked, headers, message };
}

describe("a probe of a provider that has a page for it", () => {
  it.each([
    ["openai", "GET /v1/models", { authorization: `Bearer ${plantedKey}` }],
    ["anthropic", "GET /v1/models/model-1", { "x-api-key": plantedKey, "anthropic-version": "2023-06-01" }],
    ["google", "GET /v1beta/models/model-1", { "x-goog-api-key": plantedKey }],
    ["mistral", "GET /v1/models", { authorization: `Bearer ${plantedKey}` }],
    ["openai-compatible", "GET /v1/models", {}],
  ] as const)("costs no token: %s", async (provider, request, sent) => {
    const { asked, headers, message } = await probeAt({ provider }, (_, response) =>
      answerJson(response, models("other", "model-1")),
    );
    expect({ asked, message }).toEqual({ asked: [request], message: undefined });
    expect(headers[0]).toMatchObject({ accept: "application/json", ...sent });
  });

  it("asks OpenAI's responses interface for the model itself, and Google for a model of one's own", async () => {
    const answer = (_: Captured, response: ServerResponse): void => answerJson(response, { id: "x" });
    const tuned = { provider: "openai", api: "responses", model: "ft:gpt-4o:me" } as const;
    expect((await probeAt(tuned, answer)).asked).toEqual(["GET /v1/models/ft%3Agpt-4o%3Ame"]);
    expect((await probeAt({ provider: "google", model: "tunedModels/mine" }, answer)).asked).toEqual([
      "GET /v1beta/tunedModels/mine",
    ]);
  });

  it.each([
    ["llama3.2", ["llama3.2:latest"], undefined],
    ["llama3.2:latest", ["llama3.2:latest"], undefined],
    ["llama3.2:3b", ["llama3.2:3b"], undefined],
    ["llama3.2", ["llama3.2:3b"], "Ollama has no model llama3.2 (ollama pull llama3.2); it has llama3.2:3b"],
    ["llama3.2", [], "Ollama has no model llama3.2 (ollama pull llama3.2)"],
  ])("finds %s among %j of Ollama, or says what to do", async (model, names, expected) => {
    for (const baseUrl of ["", "/v1"]) {
      await withCaptureServer(
        (_, response) => answerJson(response, { models: names.map((name) => ({ name, model: name })) }),
        async ({ url, requests }) => {
          const probe = providerAt(`${url}${baseUrl}`, { provider: "ollama", model }).probe(never);
          if (expected === undefined) await probe;
          else
            expect(await failureOf(probe)).toMatchObject({ message: expected, failure: "refused", isRetryable: false });
          expect(requests.map(({ path }) => path)).toEqual(["/api/tags"]);
        },
      );
    }
  });
});

describe("a probe of a server that has no such page, or not that model on it", () => {
  const chatAnswers = (models404: number, chatStatus: number) => (request: Captured, response: ServerResponse) => {
    if (request.method === "GET") return answerJson(response, { error: "not here" }, models404);
    const whole = request.path.endsWith("/messages") ? answers.anthropic.whole : answers.chatCompletions.whole;
    return answerJson(response, chatStatus === 200 ? whole : { error: { message: "no such model" } }, chatStatus);
  };

  it.each([404, 405, 501])("asks for one token: %i", async (status) => {
    for (const [provider, path] of [
      ["openai-compatible", "/v1/chat/completions"],
      ["mistral", "/v1/chat/completions"],
      ["openai", "/v1/chat/completions"],
    ] as const) {
      await withCaptureServer(chatAnswers(status, 200), async ({ url, requests }) => {
        await providerAt(url, { provider }).probe(never);
        expect(requests.map(({ path: each }) => each)).toEqual(["/v1/models", path]);
        expect(requests[1]?.body).toMatchObject({ max_tokens: 1 });
      });
    }
    const anthropic = await probeAt({ provider: "anthropic" }, chatAnswers(status, 200));
    expect(anthropic).toMatchObject({ asked: ["GET /v1/models/model-1", "POST /v1/messages"], message: undefined });
  });

  it("fails where that chat is refused", async () => {
    const { message } = await probeAt({ provider: "openai-compatible" }, chatAnswers(404, 404));
    expect(message).toMatch(/^the server does not know the model model-1.*\(404\): no such model$/);
  });

  it("believes a server that takes any name for its only model", async () => {
    const { asked, message } = await probeAt({ provider: "openai-compatible" }, (request, response) =>
      answerJson(response, request.method === "GET" ? models("/srv/model.gguf") : answers.chatCompletions.whole),
    );
    expect(message).toBeUndefined();
    expect(asked).toEqual(["GET /v1/models", "POST /v1/chat/completions"]);
  });
});

describe.each(everyProvider)("a probe of $title", ({ entry }) => {
  it.each([401, 403, 429, 500])("fails where it is refused with %i", async (status) => {
    await withCaptureServer(
      (_, response) => answerJson(response, { error: { message: `no ${plantedKey}` } }, status),
      async ({ url, requests }) => {
        const failure = await failureOf(providerAt(url, entry).probe(never));
        expect(failure).toMatchObject({ failure: "refused", status, isRetryable: status >= 429 });
        expect(failure.message).not.toContain(plantedKey);
        expect(requests).toHaveLength(1);
      },
    );
  });

  it("fails where the answer is not JSON", async () => {
    await withCaptureServer(
      (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>Hello"),
      async ({ url }) =>
        expect(await failureOf(providerAt(url, entry).probe(never))).toMatchObject({ failure: "unreadable" }),
    );
  });
});
