import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram, runSteward } from "./support/program.ts";
import { baseEnvironment, mainFile, makeDirectory, type RunningService, startService } from "./support/service.ts";
import { runInTerminal, type Step } from "./support/terminal.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";
import { writeLog } from "./support/ws-journal.ts";

const workspace = createWorkspace();
let service: RunningService;
let keyed: Readonly<Record<string, string>>;
const journalDir = makeDirectory(workspace, "journal", 0o755);
const journalFile = `${journalDir}/system.journal`;
const write = (message: string, priority = 6): void =>
  writeLog(journalFile, [{ message, unit: "app.service", priority }]);

beforeAll(async () => {
  write("first");
  write("\u001b[2Jsecond", 3);
  service = await startService(workspace, {
    checks: true,
    environment: { STEWARD_JOURNAL_DIR: journalDir, STEWARD_RATE_LIMITS: "off" },
  });
  keyed = { STEWARD_URL: service.url, STEWARD_API_KEY: service.adminKey };
});
afterAll(workspace.dispose);

const steward = (...argv: readonly string[]) => runSteward(workspace, argv, keyed);
const inTerminal = (argv: readonly string[], steps: readonly Step[] = [], columns = 80, environment = {}) =>
  runInTerminal(workspace, [process.execPath, mainFile, ...argv], {
    environment: { ...baseEnvironment(workspace), ...keyed, ...environment },
    columns,
    steps,
  });

describe("the command line in a pipe", () => {
  it("ends silently and with 0 when nobody reads on, and needs no service for its version and help", async () => {
    for (let count = 0; count < 40; count += 1) write("x".repeat(5_000));
    const script = `"${process.execPath}" "${mainFile}" logs -n 1000 -o cat | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const ran = await runProgram(workspace, ["/bin/bash", "-c", script], { environment: keyed });
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^first\n0\n$/), stderr: "" });
    expect(await runSteward(workspace, ["--version"])).toMatchObject({ code: 0, stderr: "" });
    expect(await runSteward(workspace, ["logs", "--help"])).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("the command line at a terminal", () => {
  it("has no colours with NO_COLOR or a dumb terminal, and shows no control character of a log entry", async () => {
    for (const environment of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
      const { output } = await inTerminal(["check"], [], 80, environment);
      // A spinner may have moved the cursor; nothing has a colour.
      expect(output).not.toMatch(/\p{Cc}\[\d/u);
    }
    const { output } = await inTerminal(["logs", "-n", "100", "-p", "err", "-o", "cat"]);
    expect(output).toBe("\u001b[31msecond\u001b[39m\n");
  });

  it("asks before what is dangerous, and does nothing at no and at Ctrl-C", async () => {
    const made = JSON.parse((await steward("keys", "create", "doomed", "--scope", "viewer", "--json")).stdout) as {
      id: string;
    };
    const no = await inTerminal(["keys", "revoke", made.id], [{ wait: "[y/N]", send: "n\r" }]);
    expect(no).toMatchObject({ code: 1, left: [], output: expect.stringContaining("nothing was done") });
    const interrupted = await inTerminal(["keys", "revoke", made.id], [{ wait: "[y/N]", send: "\u0003" }]);
    expect(interrupted).toMatchObject({ code: 130, left: [] });
    expect((await steward("keys", "list")).stdout).toMatch(/doomed +good/);
    const yes = await inTerminal(["keys", "revoke", made.id], [{ wait: "[y/N]", send: "y\r" }]);
    expect(yes).toMatchObject({ code: 0, left: [], output: expect.stringContaining("key revoked") });
  });

  it("shows what it asks about where the output goes into a file, which gets no colours", async () => {
    const made = JSON.parse((await steward("keys", "create", "doomed-too", "--scope", "viewer", "--json")).stdout) as {
      id: string;
    };
    const file = workspace.path("revoked");
    const script = `"${process.execPath}" "${mainFile}" keys revoke ${made.id} > ${file}`;
    const yes = await runInTerminal(workspace, ["/bin/bash", "-c", script], {
      environment: { ...baseEnvironment(workspace), ...keyed },
      steps: [{ wait: "[y/N]", send: "y\r" }],
    });
    expect(yes).toMatchObject({ code: 0, left: [] });
    expect(stripVTControlCharacters(yes.output)).toMatch(
      new RegExp(`^ {2}1\\. .*doomed-too.*\\n(.*\\n)*Revoke the key ${made.id}\\? \\[y/N\\]`),
    );
    expect(yes.output).toContain("\u001b[1mRevoke the key");
    expect(readFileSync(file, "utf8")).toBe(`${made.id} (doomed-too): key revoked\n`);
  });

  it("ends a follow with Ctrl-C, with 130 and without a word", async () => {
    write("here at last");
    const { code, output, left } = await inTerminal(
      ["logs", "-f", "-n", "1", "-o", "cat"],
      [{ wait: "here at last", send: "\u0003" }],
      8_000,
    );
    expect({ code, left }).toEqual({ code: 130, left: [] });
    expect(output).toMatch(/here at last\n(\^C)?$/);
  });
});

describe("the command line that cannot ask", () => {
  it.each([
    ["no service answers", { STEWARD_URL: "http://127.0.0.1:1" }, /cannot reach the service: .* \(is it running\?.*\)/],
    ["the key is wrong", { STEWARD_API_KEY: "stw_wrong" }, /\(UNAUTHORIZED, request \S+\)/],
  ])("ends with one line and exit code 2 where %s", async (_, environment, message) => {
    const ran = await runSteward(workspace, ["status"], { ...keyed, ...environment });
    expect(ran).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(/^steward: [^\n]+\n$/) });
    expect(ran.stderr).toMatch(message);
  });
});

describe("a follow whose connection is lost", () => {
  it("reconnects, says so, and misses nothing in between", async () => {
    const mine = await startService(workspace, { environment: { STEWARD_JOURNAL_DIR: journalDir } });
    const environment = { ...baseEnvironment(workspace), STEWARD_URL: mine.url, STEWARD_API_KEY: mine.adminKey };
    const child = spawn(process.execPath, [mainFile, "logs", "-f", "-n", "1", "-o", "cat"], {
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    workspace.adopt(child);
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    await until("the start", () => out !== "" || undefined);
    write("before");
    await until("what is written", () => out.includes("before\n") || undefined);
    mine.kill("SIGTERM");
    await mine.exit;
    await until("word of the loss", () => err.includes("steward: lost the connection, making it again\n") || undefined);
    write("in between");
    const again = await startService(workspace, {
      stateDir: mine.stateDir,
      environment: { STEWARD_JOURNAL_DIR: journalDir, STEWARD_LISTEN: `127.0.0.1:${mine.port}` },
    });
    await until("what was missed", () => out.includes("in between\n") || undefined);
    write("after");
    await until("what is new", () => out.includes("after\n") || undefined);
    expect(out.match(/^(before|in between|after)$/gm)).toEqual(["before", "in between", "after"]);
    expect(err).toBe("steward: lost the connection, making it again\nsteward: the connection is back\n");
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    again.kill("SIGTERM");
    await again.exit;
  });
});
