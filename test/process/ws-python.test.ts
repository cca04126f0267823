import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canMakeJournals } from "../journals/programs.ts";
import { runProgram } from "./support/program.ts";
import { baseEnvironment, type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";
import { writeLog } from "./support/ws-journal.ts";

const python = "/usr/bin/python3";
const script = fileURLToPath(new URL("./support/ws-client.py", import.meta.url));
const workspace = createWorkspace();
const journalDir = workspace.path("journal");
const file = `${journalDir}/system.journal`;

/** @throws Error in CI, where a skipped test would go unnoticed. */
async function hasLibrary(): Promise<boolean> {
  const { code } = await runProgram(workspace, [python, "-c", "import websockets"]).catch(() => ({ code: 1 }));
  if (code === 0) return true;
  const reason = "apt-get install python3-websockets";
  if (process.env["CI"] === "true") throw new Error(`cannot drive the stream from Python: ${reason}`);
  process.stderr.write(`skipped: the stream driven by another library (${reason})\n`);
  return false;
}

const isPossible = (await hasLibrary()) && canMakeJournals();
let service: RunningService;

interface Happening {
  readonly event: "open" | "refused" | "message" | "closed";
  readonly status?: number;
  readonly type?: string;
  readonly text?: boolean;
  readonly frame?: Readonly<Record<string, unknown>>;
  readonly code?: number;
}

/** Starts the client in a process of its own. */
function startClient(query: Readonly<Record<string, string>>) {
  const address = `${service.url.replace(/^http/, "ws")}/api/v1/ws/logs?${new URLSearchParams(query).toString()}`;
  const child = spawn(python, [script, address], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...baseEnvironment(workspace), NO_PROXY: "*" },
  });
  workspace.adopt(child);
  const happenings: Happening[] = [];
  createInterface(child.stdout).on("line", (line) => happenings.push(JSON.parse(line) as Happening));
  return {
    /** The happening at a place, once it is there. */
    at: (index: number): Promise<Happening> => until(`happening ${index}`, () => happenings[index]),
    send: (message: unknown): void => void child.stdin.write(`${JSON.stringify(message)}\n`),
    sendText: (text: string): void => void child.stdin.write(`${text}\n`),
    end: (): void => void child.stdin.end(),
  };
}

describe.runIf(isPossible)("a Python client of the log stream", () => {
  beforeAll(async () => {
    mkdirSync(journalDir);
    writeLog(file, [{ message: "before", unit: "app.service", priority: 6 }]);
    service = await startService(workspace, {
      environment: { STEWARD_RATE_LIMITS: "off", STEWARD_JOURNAL_DIR: journalDir },
    });
  });

  it("gets entries as text frames, filters them, and resumes after a cursor", async () => {
    const client = startClient({ api_key: service.adminKey });
    expect(await client.at(0)).toEqual({ event: "open" });
    writeLog(file, [{ message: "one", unit: "app.service", priority: 6 }]);
    const one = await client.at(1);
    expect(one).toMatchObject({
      event: "message",
      text: true,
      frame: { message: "one", unit: "app.service", priority: 6, identifier: "test", hostname: "testhost" },
    });

    client.send({ type: "filter", unit: "web", priority: "warning" });
    client.send({ type: "filter", priority: "loud" });
    expect(await client.at(2)).toMatchObject({
      frame: { type: "error", error: { code: "VALIDATION_ERROR", details: { field: "priority" } } },
    });
    writeLog(file, [
      { message: "other unit", unit: "app.service", priority: 3 },
      { message: "less severe", unit: "web.service", priority: 6 },
      { message: "ünï 💣", unit: "web.service", priority: 4 },
    ]);
    expect(await client.at(3)).toMatchObject({ frame: { message: "ünï 💣" } });
    client.end();
    expect(await client.at(4)).toMatchObject({ event: "closed", code: 1000 });

    const again = startClient({ api_key: service.adminKey, cursor: String(one.frame?.["cursor"]) });
    await again.at(0);
    writeLog(file, [{ message: "last", unit: "app.service", priority: 6 }]);
    const messages: unknown[] = [];
    for (let index = 1; index <= 4; index += 1) messages.push((await again.at(index)).frame?.["message"]);
    expect(messages).toEqual(["other unit", "less severe", "ünï 💣", "last"]);
    again.end();
  });

  it("is refused by the status of the upgrade, and closed with the code of the reason", async () => {
    const refused = await startClient({ api_key: "wrong" }).at(0);
    expect(refused).toMatchObject({ event: "refused", status: 401, type: "application/json; charset=utf-8" });
    const broken = startClient({ api_key: service.adminKey });
    await broken.at(0);
    broken.sendText("not JSON");
    expect(await broken.at(1)).toMatchObject({ event: "closed", code: 1007 });
    const left = startClient({ api_key: service.adminKey });
    await left.at(0);
    service.kill("SIGTERM");
    expect(await left.at(1)).toMatchObject({ event: "closed", code: 1001 });
    expect(await service.exit).toMatchObject({ code: 0 });
    expect(service.stdout() + service.stderr()).not.toContain(service.adminKey);
  });
});

afterAll(workspace.dispose);
