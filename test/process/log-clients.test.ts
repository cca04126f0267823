import { mkdirSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";
import { writeLog } from "./support/ws-journal.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const queries = ["limit=100", "limit=1000&order=desc", "unit=app-2.service", "grep=entry%20.*7", "priority=3&limit=5"];

it.skipIf(!canMakeJournals())(
  "each of 300 clients that query the journal at once is answered or refused in words",
  async () => {
    const journalDir = workspace.path("journal");
    mkdirSync(journalDir);
    const entries = Array.from({ length: 3_000 }, (_, at) => ({
      message: `entry ${at} ${"x".repeat(200)}`,
      unit: `app-${at % 5}.service`,
      priority: at % 8,
    }));
    writeLog(`${journalDir}/system.journal`, entries);
    const { url, adminKey } = await startService(workspace, {
      settings: "updates: { enabled: false }\nconnectors: { discover: false }\nrate_limits: { per_minute: 10000 }\n",
      environment: { STEWARD_JOURNAL_DIR: journalDir },
    });
    const client = createClient({ url, key: adminKey });
    const make = async (at: number) =>
      (await client.createKey({ body: { name: `reader-${at}`, scopes: ["logs:read"] } })).key;
    const keys = await Promise.all(Array.from({ length: 6 }, (_, at) => make(at)));
    const ask = async (key = "", query = "") => {
      const address = `${url}/api/v1/system/logs?since=1970-01-01T00:00:00Z&${query}`;
      const answer = await fetch(address, { headers: { "X-API-Key": key } });
      return { status: answer.status, json: await answer.json() };
    };
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, at) => ask(keys[at % keys.length], queries[at % queries.length])),
    );
    const refusal = {
      code: expect.stringMatching(/^(RATE_LIMITED|UNAVAILABLE)$/),
      message: expect.stringMatching(/./),
    };
    for (const { status, json } of answers) {
      expect([200, 429, 503]).toContain(status);
      expect(json).toMatchObject(
        status === 200 ? { logs: expect.any(Array), total: expect.any(Number) } : { error: refusal },
      );
    }
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    // And anyone who comes afterwards is served.
    expect((await ask(keys[0], "limit=1")).status).toBe(200);
  },
);
