import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { runSteward } from "./support/program.ts";
import { type RunningService, startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const isBooted = existsSync("/run/systemd/system");
if (isBooted) process.stdout.write("skipped: a machine without systemd and without a journal: this one runs systemd\n");

describe.skipIf(isBooted)("on a machine without systemd and without a journal", () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService(workspace);
  });

  it("lists say that they are not known, not that there is nothing", async () => {
    const api = createClient({ url: service.url, key: service.adminKey });
    const noSystemd = { not_shown: [{ what: "states", reason: "systemd is not running on this host" }] };
    expect(await api.listServices({ query: { status: "failed" } })).toMatchObject({ services: [], ...noSystemd });
    expect(await api.listUnits({ query: { status: "failed" } })).toMatchObject({ units: [], ...noSystemd });
    const noJournal = {
      not_shown: [{ what: "entries", reason: "there are no journal files in /var/log/journal or /run/log/journal" }],
    };
    expect(await api.listLogs()).toMatchObject({ logs: [], ...noJournal });
    expect(await api.getLogHistogram()).toMatchObject({ total: 0, ...noJournal });
    expect(await api.listLogBoots()).toMatchObject({ boots: [], ...noJournal });
    expect(await api.getLogUsage()).toMatchObject({ files: 0, ...noJournal });
    expect(await api.listLogins()).toMatchObject({ sessions: null, failed: null });
    await expect(api.exportLogs()).rejects.toMatchObject({ status: 503, details: { missing: "journal" } });
  });

  it("the command line says so in words", async () => {
    const environment = { STEWARD_URL: service.url, STEWARD_API_KEY: service.adminKey };
    for (const words of ["-u nobody", "-n all", "-n all -o export"])
      expect([words, await runSteward(workspace, ["logs", ...words.split(" ")], environment)]).toEqual([
        words,
        {
          code: 0,
          stdout: "",
          stderr:
            "-- No entries --\nnot shown: entries: there are no journal files in /var/log/journal or /run/log/journal\n",
        },
      ]);
  });
});
