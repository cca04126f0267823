import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exitCode } from "#cli/output/output.ts";
import { makePair } from "../process/support/certificates.ts";
import { runSteward } from "../process/support/program.ts";
import { baseEnvironment, mainFile } from "../process/support/service.ts";
import { runInTerminal } from "../process/support/terminal.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { type HostileService, startHostileService } from "./support/hostile-service.ts";

const workspace = createWorkspace();
let service: HostileService;
beforeAll(async () => {
  service = await startHostileService();
});
afterAll(async () => {
  service.close();
  await workspace.dispose();
});

/** A few of those that show what a service says; cli-answers.long.test.ts has all of them, in this process. */
const asPrograms = [["status"], ["services", "list"], ["keys", "create", "x", "--scope", "system:read"]];

/** What is in a pipe as journalctl writes it, byte for byte, and nothing but text at a terminal. */
const journalCommands = [
  ["logs"],
  ...["short-iso", "cat", "json", "export"].map((output) => ["logs", "-o", output]),
  ["logs", "--field", "PRIORITY"],
];

const run = (argv: readonly string[]) =>
  runSteward(workspace, ["--url", service.url, ...argv], { STEWARD_API_KEY: "stw_x", HOME: workspace.path() });

describe("a certificate with text for terminals in its names", () => {
  it("is reported as text [terminal-escapes]", async () => {
    const hostile = "evil\u001b]0;owned\u0007\u009b2J";
    const pair = await makePair(workspace, "names", "DNS:evil\u001b]0;owned\u0007");
    const server = createServer({ cert: readFileSync(pair.cert), key: readFileSync(pair.key) }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const url = `https://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
    for (const more of [[], ["--cacert", pair.cert]]) {
      const environment = { STEWARD_API_KEY: "stw_x", HOME: workspace.path(hostile) };
      const { code, stdout, stderr } = await runSteward(workspace, ["--url", url, ...more, "status"], environment);
      expect({ code, stdout }).toEqual({ code: exitCode.couldNotRun, stdout: "" });
      expect(stderr).toMatch(/^steward: cannot (trust the service: .*signed by itself|reach the service: .*altnames)/);
      expect(stderr).not.toMatch(/[^\n\t\P{Cc}]|\p{Cf}/u);
    }
    server.close();
  });
});

describe("a terminal that shows what a service says", () => {
  it.each(journalCommands.map((argv) => [argv.join(" "), argv] as const))(
    "is shown nothing but text by the program in it: %s [terminal-escapes]",
    async (_, argv) => {
      for (const fails of [false, true]) {
        service.fails = fails;
        const environment = { ...baseEnvironment(workspace), STEWARD_API_KEY: "stw_x", NO_COLOR: "1" };
        const words = [process.execPath, mainFile, "--url", service.url, ...argv];
        const { code, output } = await runInTerminal(workspace, words, { environment });
        if (!fails) expect([code, output]).toEqual([exitCode.fine, output]);
        expect(service.takeAsked().length).toBeGreaterThan(0);
        // The terminal itself makes a line feed two characters.
        const text = output.replaceAll("\r\n", "\n");
        expect(text).not.toBe("");
        const found = text.match(/.{0,60}([^\n\t\P{Cc}]|\p{Cf}).{0,60}/u)?.[0];
        expect([fails, JSON.stringify(found)]).toEqual([fails, undefined]);
      }
    },
  );

  it.each(asPrograms.map((argv) => [argv.join(" "), argv] as const))(
    "gets nothing but text from the program in a pipe: %s",
    async (_, argv) => {
      for (const fails of [false, true]) {
        service.fails = fails;
        const { code, stdout, stderr } = await run(argv);
        // A command that breaks prints nothing hostile either.
        if (!fails) expect([code === exitCode.couldNotRun, stderr]).toEqual([false, stderr]);
        expect(service.takeAsked().length).toBeGreaterThan(0);
        expect(stdout + stderr).not.toBe("");
        const found = (stdout + stderr).match(/.{0,60}([^\n\t\P{Cc}]|\p{Cf}).{0,60}/u)?.[0];
        expect([fails, JSON.stringify(found)]).toEqual([fails, undefined]);
      }
    },
  );
});
