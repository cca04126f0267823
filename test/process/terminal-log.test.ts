import { stripVTControlCharacters } from "node:util";
import { afterAll, expect, it } from "vitest";
import { mainFile } from "./support/service.ts";
import { runInTerminal } from "./support/terminal.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

it("serve at a terminal logs lines for people, and ends with Ctrl-C", async () => {
  const { output, left } = await runInTerminal(workspace, [process.execPath, mainFile, "serve"], {
    environment: { STEWARD_LISTEN: "127.0.0.1:0", STEWARD_STATE_DIR: workspace.path("state") },
    columns: 400,
    steps: [{ wait: "ready", send: "\u0003" }],
  });
  const lines = stripVTControlCharacters(output).split(/\r?\n/);
  expect(left).toEqual([]);
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^\d\d:\d\d:\d\d info {2}ready$/),
      expect.stringMatching(/\d\d:\d\d:\d\d info {2}stopping signal=SIGINT$/),
    ]),
  );
  expect(output).not.toContain('{"level"');
});
