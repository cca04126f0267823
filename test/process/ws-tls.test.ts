import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { certName } from "#adapters/tls/files.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";
import { openStream } from "./support/ws-client.ts";
import { writeLog } from "./support/ws-journal.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

describe.runIf(canMakeJournals())("the stream over TLS", () => {
  it("brings whole messages, however long, to every client, and ends with the service", async () => {
    const journalDir = workspace.path("journal");
    const file = join(journalDir, "system.journal");
    mkdirSync(journalDir);
    writeLog(file, [{ message: "before", unit: "app.service", priority: 6 }]);
    const service = await startService(workspace, {
      settings: "tls: auto\n",
      environment: { STEWARD_RATE_LIMITS: "off", STEWARD_JOURNAL_DIR: journalDir },
    });
    const ca = readFileSync(join(service.stateDir, certName), "utf8");
    const open = () => openStream(service.url, "/api/v1/ws/logs", { ca, query: { api_key: service.adminKey } });
    const streams = await Promise.all(Array.from({ length: 20 }, open));
    const messages = ["short", "x".repeat(700_000), "é".repeat(20_000), "end"];
    writeLog(
      file,
      messages.map((message) => ({ message, unit: "app.service", priority: 6 })),
    );
    for (const stream of streams) {
      expect((await stream.last("end")).map(({ message }) => message)).toEqual(messages);
    }
    service.kill("SIGTERM");
    expect(await Promise.all(streams.map(async ({ closed }) => (await closed).code))).toEqual(streams.map(() => 1001));
    expect(await service.exit).toMatchObject({ code: 0 });
  });
});
