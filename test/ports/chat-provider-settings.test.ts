import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createConnectorPlan } from "#adapters/llm/index.ts";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import { connectorSettings } from "#config/connectors.ts";
import { loadConfig } from "#config/load.ts";
import { answerJson, withCaptureServer } from "./support/capture-server.ts";
import { answers, spoken } from "./support/provider-answers.ts";
import { ask, never } from "./support/providers.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "steward-connectors-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The plan of a settings file, on its way from the text to what is used. */
function planOf(text: string, environment: Readonly<Record<string, string>> = {}) {
  const file = join(folder, "config.yaml");
  writeFileSync(file, text);
  const { settings } = loadConfig({
    file,
    environment: {},
    isRoot: true,
    builtInCheckIds: [],
  });
  return createConnectorPlan(connectorSettings(settings), environment);
}

it("the example of the documentation makes connectors", () => {
  const page = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");
  const { connectors, ...plan } = planOf(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "");
  expect(plan.default).toBe("local");
  expect(connectors).toMatchObject([
    { name: "local", provider: "Ollama" },
    { name: "claude", provider: "Anthropic", access: { missing: "ANTHROPIC_API_KEY is not set" } },
  ]);
});

describe("a server on this machine", () => {
  it.each([["ollama"], ["openai-compatible"]])("needs nothing but its address: %s", (provider) =>
    withCaptureServer(
      ({ method, path }, response) => {
        if (method === "POST") return answerJson(response, answers.chatCompletions.whole);
        const models = [{ id: "model-1", name: "model-1" }];
        return answerJson(response, path === "/api/tags" ? { models } : { data: models });
      },
      async ({ url, requests }) => {
        const { connectors } = planOf(
          `connectors: { list: [{ name: a, provider: ${provider}, model: model-1, base_url: "${url}" }] }`,
        );
        const [connector] = connectors;
        if (connector === undefined || !("provider" in connector.access)) throw new Error("it is not ready");
        await connector.access.provider.probe(never);
        expect((await connector.access.provider.chat(ask("hello"), never)).content).toBe(spoken.text);
        for (const { headers } of requests) expect(headers).not.toHaveProperty("authorization");
      },
    ),
  );
});

describe("a key", () => {
  it.each([
    ["environment", "api_key_env: THE_KEY"],
    ["file", "api_key_file: FOLDER/key"],
    ["credential", "api_key_credential: key"],
  ])("reaches the wire from its %s", (_, setting) =>
    withCaptureServer(
      (__, response) => answerJson(response, answers.anthropic.whole),
      async ({ url, requests }) => {
        writeFileSync(join(folder, "key"), "sk-from-somewhere\n");
        chmodSync(join(folder, "key"), 0o600);
        const { connectors } = planOf(
          `connectors: { list: [{ name: a, provider: anthropic, model: m, base_url: "${url}", ${setting.replace("FOLDER", folder)} }] }`,
          { THE_KEY: "sk-from-somewhere", CREDENTIALS_DIRECTORY: folder },
        );
        const [connector] = connectors;
        if (connector === undefined || !("provider" in connector.access)) throw new Error("it is not ready");
        await connector.access.provider.chat(ask("hello"), never);
        expect(requests[0]?.headers["x-api-key"]).toBe("sk-from-somewhere");
      },
    ),
  );
});

it("a certificate is trusted when NODE_EXTRA_CA_CERTS vouches for it", async () => {
  const tls = await selfSignedPair({ stateDir: folder, now: Date.now() });
  const trusted = join(folder, "ca.pem");
  writeFileSync(trusted, tls.cert);
  await withCaptureServer(
    (_, response) => answerJson(response, answers.chatCompletions.whole),
    async ({ url }) => {
      const program = `
        import { createConnectorPlan } from "#adapters/llm/index.ts";
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
