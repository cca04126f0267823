import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { textWidth } from "#cli/output/text.ts";
import { commandLineOn } from "./support/command-line.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("what the command line shows of a host", (session) => {
  const { atTerminal, inPipe } = commandLineOn(session);

  const looks: readonly (readonly string[])[] = [
    ["status"],
    ["doctor"],
    ["check"],
    ["services", "-n", "20"],
    ["services", "status", "cron"],
    ["units"],
    ["units", "--type", "timer"],
    ["units", "--type", "socket"],
    ["processes"],
    ["processes", "--sort", "io"],
    ["users"],
    ["users", "--every", "--keys"],
    ["logins"],
    ["time"],
    ["hostname"],
    ["disks"],
    ["du", "/usr/share/doc"],
    ["network"],
    ["packages", "search", "cron"],
    ["packages", "show", "cron"],
    ["packages", "history"],
    ["logs", "-n", "20"],
    ["alerts"],
    ["traces"],
    ["updates", "check"],
    ["updates", "history"],
    ["snapshots"],
    ["operations"],
    ["connectors"],
    ["keys", "list"],
    ["plugins"],
    ["notify"],
    ["audit"],
    ["context"],
    ["config", "check"],
    ["completion", "bash"],
    ["completion", "zsh"],
    ["completion", "fish"],
    ["api", "get-system-info"],
  ];

  const named = looks.map((argv) => [argv.join(" "), argv] as const);
  it.each(named)("steward %s fits a terminal, and is plain in a pipe", async (_, argv) => {
    const piped = await inPipe(argv);
    expect([argv, piped.exitCode <= 1, piped.stderr]).toEqual([argv, true, ""]);
    expect(piped.stdout).toBe(stripVTControlCharacters(piped.stdout));
    // The narrow one for those whose views differ most: each takes a process.
    const isNarrow = ["status", "doctor", "services", "alerts"].includes(argv[0] ?? "");
    for (const columns of isNarrow ? [80, 40] : [80]) {
      const { code, output } = await atTerminal(argv, { columns });
      expect([argv, code <= 1]).toEqual([argv, true]);
      if (["logs", "api", "completion"].includes(argv[0] ?? "")) continue;
      const lines = stripVTControlCharacters(output)
        .split("\n")
        .map((line) => line.split("\r").at(-1) ?? "");
      // Of sentences no word is cut.
      const cells = lines.filter(
        (line) => !/^(steward: |Found trouble|All healthy|\d+ (checks|of|updates)|nothing to update|no )/.test(line),
      );
      for (const line of cells) expect([argv, line, textWidth(line) <= columns]).toEqual([argv, line, true]);
    }
  });
});
