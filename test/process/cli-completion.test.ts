import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { where } from "./support/optional-program.ts";
import { runProgram, runSteward } from "./support/program.ts";
import { root } from "./support/service.ts";
import { runInTerminal } from "./support/terminal.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const scripts: Record<string, string> = {};
beforeAll(async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await runSteward(workspace, ["completion", shell]);
    expect(code).toBe(0);
    scripts[shell] = workspace.path(shell === "zsh" ? "_steward" : `steward.${shell}`);
    writeFileSync(scripts[shell], stdout);
  }
  writeFileSync(workspace.path("a-settings-file.yaml"), "");
});

/** Words, and what the last of them becomes when it is completed. */
const unique: readonly (readonly [line: string, completed: string])[] = [
  ["steward al", "steward alerts"],
  ["steward alerts unsil", "steward alerts unsilence"],
  ["steward alerts silence DiskS", "steward alerts silence DiskSpaceLow"],
  ["steward alerts silence conn", "steward alerts silence conntrack"],
  ["steward check apt_", "steward check apt_status"],
  ["steward explain disk_s", "steward explain disk_space"],
  ["steward updates apply --secu", "steward updates apply --security"],
  ["steward services --status fai", "steward services --status failed"],
  ["steward services list --status fai", "steward services list --status failed"],
  ["steward --url http://x alerts unsil", "steward --url http://x alerts unsilence"],
  ["steward api list-serv", "steward api list-services"],
  ["steward api list-services --status ina", "steward api list-services --status inactive"],
  ["steward serve --config a-set", "steward serve --config a-settings-file.yaml"],
  ["steward completion fi", "steward completion fish"],
];

const lines = unique.map(([line]) => line);
const completed = unique.map(([, line]) => line);

describe("bash", () => {
  it("has the function under the name of the program", async () => {
    const argv = ["/bin/bash", "--norc", "-c", `. ${scripts["bash"]}; complete -p steward`] as const;
    expect((await runProgram(workspace, argv)).stdout).toBe("complete -F _steward steward\n");
  });

  it("completes words", async () => {
    // What bash sets before it calls the function; only where it calls it itself may the function ask for file names.
    const program = `
      . ${scripts["bash"]}
      compopt() { :; }
      while read -r COMP_LINE; do
        read -r -a COMP_WORDS <<<"$COMP_LINE"
        COMP_POINT=\${#COMP_LINE}
        COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
        _steward steward "\${COMP_WORDS[COMP_CWORD]}"
        last=\${COMP_WORDS[COMP_CWORD]}
        line="\${COMP_WORDS[*]}"
        echo "\${line%"$last"}\${COMPREPLY[*]}"
      done`;
    const ran = await runProgram(workspace, ["/bin/bash", "--norc", "-c", program], { input: `${lines.join("\n")}\n` });
    expect(ran).toEqual({ code: 0, stdout: `${completed.join("\n")}\n`, stderr: "" });
  });

  it.each([
    ["steward alerts silence DiskS", "steward alerts silence DiskSpaceLow"],
    ["steward serve --config a-set", "steward serve --config a-settings-file.yaml"],
  ])("completes %s at the prompt of a person", async (line, whole) => {
    const run = await runInTerminal(workspace, ["/bin/bash", "--norc", "--noprofile", "-i"], {
      columns: 200,
      environment: { PS1: "$ " },
      steps: [
        { wait: "$ ", send: `. ${scripts["bash"]}; cd ${workspace.path()}; PS1='g''o: '\r` },
        { wait: "go: ", send: `${line}\t` },
        { wait: whole, send: "\u0015exit\r" },
      ],
    });
    expect(run).toMatchObject({ left: [] });
  });
});

where("zsh", () => {
  describe("zsh", () => {
    it.each([
      ["steward alerts unsil", "steward alerts unsilence"],
      ["steward alerts silence DiskS", "steward alerts silence DiskSpaceLow"],
      ["steward services --status fai", "steward services --status failed"],
      ["steward serve --config a-set", "steward serve --config a-settings-file.yaml"],
    ])("completes %s at the prompt of a person", async (line, whole) => {
      const setup = `autoload -U compinit; compinit -u -D; . ${scripts["zsh"]}; cd ${workspace.path()}; unsetopt zle_bracketed_paste; PS1='g''o: '`;
      const run = await runInTerminal(workspace, ["/usr/bin/zsh", "-f", "-i"], {
        columns: 300,
        environment: { PS1: "$ ", TERM: "dumb" },
        steps: [
          { wait: "$ ", send: `${setup}\r` },
          { wait: "go: ", send: `${line}\t` },
          { wait: whole.slice(line.length), send: "\u0015exit\r" },
        ],
      });
      expect(run).toMatchObject({ left: [] });
    });
  });
});

where("fish", () => {
  describe("fish", () => {
    it("completes words", async () => {
      const program = `source ${scripts["fish"]}; while read -l line; complete -C $line | string replace -r '\\t.*' '' | string join ' '; end; exit 0`;
      const ran = await runProgram(workspace, ["/usr/bin/fish", "--no-config", "-c", program], {
        input: `${lines.join("\n")}\n`,
      });
      const words = completed.map((line) => line.split(" ").at(-1));
      expect({ ...ran, stdout: ran.stdout.trimEnd().split("\n") }).toEqual({ code: 0, stdout: words, stderr: "" });
    });
  });
});

describe("man pages", () => {
  const folder = workspace.path("man");
  beforeAll(async () => {
    const argv = [process.execPath, join(root, "scripts/man-pages.ts"), folder] as const;
    const { code, stdout } = await runProgram(workspace, argv, { environment: { SOURCE_DATE_EPOCH: "1769868000" } });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/: \d+ pages\n$/)]);
  });

  where("groff", () => {
    it("are well-formed for groff, with every warning that there is", async () => {
      for (const file of readdirSync(folder)) {
        const argv = ["/usr/bin/groff", "-man", "-Tutf8", "-ww", "-z", join(folder, file)] as const;
        expect([file, await runProgram(workspace, argv)]).toEqual([file, { code: 0, stdout: "", stderr: "" }]);
      }
    });
  });

  where("mandoc", () => {
    it("are well-formed for mandoc", async () => {
      const files = readdirSync(folder).map((file) => join(folder, file));
      const argv = ["/usr/bin/mandoc", "-T", "lint", "-W", "warning", ...files] as const;
      expect(await runProgram(workspace, argv)).toEqual({ code: 0, stdout: "", stderr: "" });
    });
  });
});
