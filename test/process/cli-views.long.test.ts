import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { textWidth } from "#cli/output/text.ts";
import { runSteward } from "./support/program.ts";
import { baseEnvironment, mainFile, makeFolder, startService } from "./support/service.ts";
import { runInTerminal } from "./support/terminal.ts";
import { createWorkspace } from "./support/workspace.ts";
import { writeLog } from "./support/ws-journal.ts";

const workspace = createWorkspace();
let keyed: Readonly<Record<string, string>>;
const journalDir = makeFolder(workspace, "journal", 0o755);

beforeAll(async () => {
  writeLog(`${journalDir}/system.journal`, [
    { message: "first", unit: "app.service", priority: 6 },
    { message: "\u001b[2Jsecond", unit: "app.service", priority: 3 },
  ]);
  const service = await startService(workspace, {
    checks: true,
    environment: { STEWARD_JOURNAL_DIR: journalDir, STEWARD_RATE_LIMITS: "off" },
  });
  keyed = { STEWARD_URL: service.url, STEWARD_API_KEY: service.adminKey };
});
afterAll(workspace.dispose);

const steward = (...argv: readonly string[]) => runSteward(workspace, argv, keyed);

/** Whether a text has what is for terminals alone: colours, movements, lines written over. */
const isForTerminals = (text: string): boolean => /(?!\n)\p{Cc}/u.test(text);

const looks: readonly (readonly string[])[] = [
  ["status"],
  ["doctor"],
  ["check"],
  ["services"],
  ["users"],
  ["logs"],
  ["alerts"],
  ["traces"],
  ["snapshots"],
  ["operations"],
  ["updates", "history"],
  ["connectors"],
  ["keys", "list"],
  ["plugins"],
  ["notify"],
  ["audit"],
  ["api", "whoami"],
];

describe("in a pipe", () => {
  it.each(looks.map((argv) => [argv.join(" "), argv] as const))(
    "%s has neither colours nor progress",
    async (_, argv) => {
      const { code, stdout, stderr } = await steward(...argv);
      expect([argv, code <= 1, stderr]).toEqual([argv, true, ""]);
      expect(isForTerminals(stdout)).toBe(false);
      expect(stdout).toMatch(/\n$/);
    },
  );

  it.each(looks.filter(([first]) => first !== "api").map((argv) => [argv.join(" "), argv] as const))(
    "%s answers with JSON where it is asked to",
    async (_, argv) => {
      const { code, stdout } = await steward(...argv, "--json");
      expect([argv, code <= 1, typeof JSON.parse(stdout)]).toEqual([argv, true, "object"]);
    },
  );
});

describe("at a terminal", () => {
  it.each([80, 40])("fits %i columns, in colours", async (columns) => {
    for (const argv of [["status"], ["doctor"], ["services"], ["check"]]) {
      const { output, left } = await runInTerminal(workspace, [process.execPath, mainFile, ...argv], {
        environment: { ...baseEnvironment(workspace), ...keyed },
        columns,
        steps: [],
      });
      expect(left).toEqual([]);
      expect(output).toContain("\u001b[");
      const lines = stripVTControlCharacters(output)
        .split("\n")
        .map((line) => line.split("\r").at(-1) ?? "");
      // The last line is a sentence, which a terminal wraps.
      for (const line of lines.filter((each) => !/^(Found trouble|\d+ (checks|of))/.test(each)))
        expect([argv, textWidth(line) <= columns, line]).toEqual([argv, true, line]);
    }
  });
});
