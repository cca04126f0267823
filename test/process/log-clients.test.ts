import { mkdirSync } from "node:fs";
import { Agent, get } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canMakeJournals } from "../journals/programs.ts";
import { type RunningService, startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";
import { writeLog } from "./support/ws-journal.ts";

const workspace = createWorkspace();
const journalDir = workspace.path("journal");
const clients = 300;
const keyCount = 6;
const entries = 3_000;

interface Answer {
  readonly status: number;
  readonly body: string;
}

const queries = ["limit=100", "limit=1000&order=desc", "unit=app-2.service", "grep=entry%20.*7", "priority=3&limit=5"];

describe.skipIf(!canMakeJournals())("300 clients that read the journal at once", () => {
  let service: RunningService;
  let keys: readonly string[];

  beforeAll(async () => {
    mkdirSync(journalDir);
    const texts = Array.from({ length: entries }, (_, at) => ({
      message: `entry ${at} ${"x".repeat(200)}`,
      unit: `app-${at % 5}.service`,
      priority: at % 8,
    }));
    writeLog(`${journalDir}/system.journal`, texts);
    service = await startService(workspace, {
      settings: "updates: { enabled: false }\nconnectors: { discover: false }\nrate_limits: { per_minute: 10000 }\n",
      environment: { STEWARD_JOURNAL_DIR: journalDir },
    });
    keys = await Promise.all(Array.from({ length: keyCount }, (_, at) => makeKey(service, `reader-${at}`)));
  });
  afterAll(() => workspace.dispose());

  it("get an answer or are refused in so many words, each of them", { timeout: 120_000 }, async () => {
    // A connection for each.
    const agent = new Agent({ keepAlive: false, maxSockets: Infinity });
    const answers = await Promise.all(
      Array.from({ length: clients }, (_, at) =>
        ask(service, agent, keys[at % keyCount] ?? "", queries[at % queries.length] ?? ""),
      ),
    );
    const answered = answers.filter(({ status }) => status === 200);
    for (const { body } of answered)
      expect(JSON.parse(body)).toMatchObject({ logs: expect.any(Array), total: expect.any(Number) });
    for (const { status, body } of answers) {
      if (status === 200) continue;
      expect([429, 503], body).toContain(status);
      const { error } = JSON.parse(body) as { error: { code: string; message: string } };
      expect([error.code, error.message]).toEqual([
        expect.stringMatching(/^(RATE_LIMITED|UNAVAILABLE)$/),
        expect.stringMatching(/./),
      ]);
    }
    expect(answered.length).toBeGreaterThan(0);
    // And whoever comes afterwards is served.
    expect((await ask(service, agent, keys[0] ?? "", "limit=1")).status).toBe(200);
  });
});

async function makeKey({ url, adminKey }: RunningService, name: string): Promise<string> {
  const reply = await fetch(`${url}/api/v1/auth/keys`, {
    method: "POST",
    headers: { "X-API-Key": adminKey, "content-type": "application/json" },
    body: JSON.stringify({ name, scopes: ["logs:read"] }),
  });
  const { key } = (await reply.json()) as { key: string };
  return key;
}

/** @throws when there is no answer, or only a part of one. */
function ask({ url }: RunningService, agent: Agent, key: string, query: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = get(`${url}/api/v1/system/logs?since=1970-01-01T00:00:00Z&${query}`, {
      agent,
      headers: { "X-API-Key": key },
    });
    request.on("error", reject);
    request.on("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString("utf8") }),
      );
    });
  });
}
