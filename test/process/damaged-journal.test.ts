import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LogList } from "#contract/logs.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { checksOff } from "./support/checks-off.ts";
import { parseMetrics } from "./support/metrics.ts";
import { type LaunchOptions, type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";
import { writeLog } from "./support/ws-journal.ts";

const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const workspace = createWorkspace();
const journalDir = workspace.path("journal");
const sound = `${journalDir}/system.journal`;
const damaged = `${journalDir}/user-1000.journal`;
let service: RunningService;

/** Overwrites the objects of the file's second half with what no object is. */
function damage(path: string): void {
  const text = readFileSync(path);
  const from = text.indexOf("MESSAGE=damaged 20");
  expect(from).toBeGreaterThan(0);
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(Math.min(16_384, statSync(path).size - from), 0xff), 0, undefined, from);
  closeSync(file);
}

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${service.url}${path}`, { headers });
const faults = async (): Promise<number> => {
  const samples = parseMetrics(await (await get("/metrics")).text());
  return samples.find(({ name }) => name === "svc_journal_faults_total")?.value ?? Number.NaN;
};
const warnings = () => service.lines().filter(({ msg }) => msg === "cannot read all of a journal file");

afterAll(() => workspace.dispose());

describe.skipIf(!canMakeJournals())("a damaged journal file", () => {
  beforeAll(async () => {
    mkdirSync(journalDir);
    const lines = (name: string) =>
      Array.from({ length: 40 }, (_, at) => ({ message: `${name} ${at}`, unit: "app.service", priority: 6 }));
    writeLog(sound, lines("sound"));
    writeLog(damaged, lines("damaged"));
    damage(damaged);
    service = await startService(workspace, { environment: { STEWARD_JOURNAL_DIR: journalDir } });
  });

  it("is read as far as it is intact, counted in the metrics, and logged once", async () => {
    expect(await faults()).toBe(0);
    for (let round = 0; round < 5; round += 1) {
      const reply = await get("/api/v1/system/logs", { "X-API-Key": service.adminKey });
      expect(reply.status).toBe(200);
      const { logs, unread } = (await reply.json()) as LogList;
      expect(unread).toEqual([{ file: damaged, reason: expect.stringMatching(/^it is damaged: /) as string }]);
      const messages = new Set(logs.map(({ message }) => message));
      for (let at = 0; at < 40; at += 1) expect(messages).toContain(`sound ${at}`);
      for (let at = 0; at < 20; at += 1) expect(messages).toContain(`damaged ${at}`);
      expect(messages).not.toContain("damaged 20");
    }
    await until("warning", () => (warnings().length > 0 ? true : undefined));
    const counted = await faults();
    expect(counted).toBeGreaterThan(0);
    await (await get("/api/v1/system/logs", { "X-API-Key": service.adminKey })).text();
    expect(await faults()).toBe(counted);
    expect(warnings()).toMatchObject([{ level: "warn", path: damaged }]);
  });
});

it("files that cannot be read at all are named by checks of the journal, which do not fail for them", async () => {
  const directory = workspace.path("other");
  const stateDir = workspace.path("state");
  for (const path of [directory, stateDir]) mkdirSync(path);
  const text = `${directory}/text.journal`;
  writeFileSync(text, "not a journal\n".repeat(100));
  const settings = `updates: { enabled: false }\nconnectors: { discover: false }\n${checksOff(["new_errors", "oom_kills"])}`;
  const environment = { STEWARD_JOURNAL_DIR: directory };
  const resultOf = async (id: string, options: LaunchOptions = {}): Promise<unknown> => {
    const { url, adminKey } = await startService(workspace, { settings, environment, ...options });
    return (await fetch(`${url}/api/v1/health/checks/${id}`, { headers: { "X-API-Key": adminKey } })).json();
  };
  const reason = "it does not begin as a journal file does";
  expect(await resultOf("oom_kills")).toMatchObject({
    status: "pass",
    message: `The OOM killer killed nothing in 24 h; not read: text.journal (${reason})`,
    details: { count: 0, unread: [{ file: "text.journal", reason }] },
  });

  chmodSync(text, 0);
  if (isRoot) chownSync(stateDir, nobody, nobody);
  const denied = "it cannot be opened (EACCES)";
  expect(await resultOf("new_errors", { stateDir, ...(isRoot && { uid: nobody }) })).toMatchObject({
    status: "skip",
    message: `The journal has not been read to its start yet; not read: ${text} (${denied})`,
    details: { unread: [{ file: text, reason: denied }] },
  });
});
