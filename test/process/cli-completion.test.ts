import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { nameSources } from "#cli/completion/name-sources.ts";
import { where } from "./support/optional-program.ts";
import { runProgram, runSteward } from "./support/program.ts";
import { mainFile, root } from "./support/service.ts";
import { runInTerminal, type Step } from "./support/terminal.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
const key = "stw_test0000_secret";
const pwned = workspace.path("pwned");

/** Names that run something where a shell evaluates them. */
const harmful = [`h1$(touch\${IFS}${pwned})`, `h2\`touch\${IFS}${pwned}\``, `h3;touch\${IFS}${pwned};`];
const hostile = [...harmful, "zz\u001b[2J", "zz\nyy", "zz yy", "zz\u202eyy", `zz${"a".repeat(300)}`, "--yes"];
const lists: Readonly<Record<string, readonly string[]>> = {
  units: ["apt-daily.timer", "dev-disk-by\\x2dlabel.device", "nginx.service", ...hostile],
  services: ["getty@tty1.service", "nginx.service", "odd&name.service", "quo'te.service", ...hostile],
  results: ["disk_space", "my_plugin_check"],
  snapshots: ["20260131-120000"],
  packages: ["nginx-light"],
  plugins: ["backup-report"],
  keys: ["Ab3dEf7h"],
};

type Answering = (list: string, reply: ServerResponse) => void;
const answer: Answering = (list, reply) => {
  const source = Object.values(nameSources).find((each) => each.list === list);
  reply.end(JSON.stringify({ [list]: (lists[list] ?? []).map((name) => ({ [source?.member ?? ""]: name })) }));
};
let answering: Answering;
let seen: { path: string; key: string }[];
/** In the place of a service. */
const server = createServer((request, reply) => {
  const url = request.url ?? "";
  seen.push({ path: url, key: String(request.headers["x-api-key"]) });
  const source = Object.values(nameSources).find((each) => `/api/v1${each.path}` === url.split("?")[0]);
  if (source === undefined) reply.writeHead(404).end("{}");
  else answering(source.list, reply);
});

const environment: Record<string, string> = {};
const scripts: Record<string, string> = {};
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  mkdirSync(workspace.path("bin"));
  writeFileSync(workspace.path("bin/steward"), `#!/bin/sh\nexec '${process.execPath}' '${mainFile}' "$@"\n`);
  chmodSync(workspace.path("bin/steward"), 0o755);
  writeFileSync(workspace.path("a-settings-file.yaml"), "");
  Object.assign(environment, {
    PATH: `${workspace.path("bin")}:/usr/local/bin:/usr/bin:/bin`,
    STEWARD_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    STEWARD_API_KEY: key,
    // However busy the machine is.
    STEWARD_COMPLETION_MS: "100000",
  });
  for (const shell of ["bash", "zsh", "fish"]) {
    scripts[shell] = workspace.path(shell === "zsh" ? "_steward" : `steward.${shell}`);
    writeFileSync(scripts[shell], (await runSteward(workspace, ["completion", shell])).stdout);
  }
});
beforeEach(() => {
  answering = answer;
  seen = [];
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await workspace.dispose();
});

/** Lines, and what a shell makes of them after Tab. */
const lines: readonly (readonly [line: string, completed: string])[] = [
  ["steward alerts unsil", "steward alerts unsilence"],
  ["steward alerts silence DiskS", "steward alerts silence DiskSpaceLow"],
  ["steward services --status fai", "steward services --status failed"],
  ["steward --url http://x alerts unsil", "steward --url http://x alerts unsilence"],
  ["steward serve --config a-set", "steward serve --config a-settings-file.yaml"],
  ["steward services restart ngi", "steward services restart nginx.service"],
  ["steward services status getty@", "steward services status getty@tty1.service"],
  ["steward services stop odd", String.raw`steward services stop odd\&name.service`],
  ["steward services stop quo", String.raw`steward services stop quo\'te.service`],
  ["steward logs --unit=apt", "steward logs --unit=apt-daily.timer"],
  ["steward logs -u dev", String.raw`steward logs -u dev-disk-by\\x2dlabel.device`],
  ["steward check my_", "steward check my_plugin_check"],
  ["steward rollback 2026", "steward rollback 20260131-120000"],
  ["steward packages install ngi", "steward packages install nginx-light"],
  ["steward plugins enable back", "steward plugins enable backup-report"],
  ["steward keys revoke Ab", "steward keys revoke Ab3dEf7h"],
];

describe("the command that shells run to complete names", () => {
  const complete = (argv: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    runSteward(workspace, ["__complete", ...argv], { ...environment, ...more });

  it("asks with the key and address of the command line, for what was typed, and offers no hostile name", async () => {
    const url = environment["STEWARD_URL"] ?? "";
    const ran = await complete(["plain", "installed", "ngi", "0", "--url", url, "packages"]);
    expect(ran).toEqual({ code: 0, stdout: "nginx-light\n", stderr: "" });
    expect(seen).toEqual([{ path: "/api/v1/packages?limit=1000&installed=true&search=ngi", key }]);
    expect((await complete(["plain", "service", "zz", "0"])).stdout).toBe("");
    expect((await complete(["plain", "service", "-", "0"])).stdout).toBe("");
  });

  it.each<[string, Answering, Readonly<Record<string, string>>]>([
    ["is refused", (_, reply) => reply.writeHead(403).end('{"error":{"code":"FORBIDDEN","message":"no"}}'), {}],
    ["is answered with nonsense", (_, reply) => reply.end('{"services":{"name":"x"},"units":[1,null,{"name":2}]}'), {}],
    ["is not answered in time", () => undefined, { STEWARD_COMPLETION_MS: "" }],
    ["cannot ask", answer, { STEWARD_URL: "http://127.0.0.1:1" }],
  ])("says nothing where it %s", async (_, how, more) => {
    answering = how;
    expect(await complete(["escaped", "unit", "", "0"], more)).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});

/** What is typed at a prompt: each line with Tab, then commands with harmful names as completion has left them. */
const typed = (shown: (line: string, completed: string) => string): readonly Step[] => [
  ...lines.flatMap(([line, completed]) => [
    { wait: "go: ", send: `${line}\t` },
    { wait: shown(line, completed), send: "\u0015\r" },
  ]),
  ...harmful.flatMap((name) => [
    { wait: "go: ", send: `steward services status ${name.slice(0, 2)}\t` },
    { wait: "pwned", send: "\r" },
  ]),
  { wait: "go: ", send: "exit\r" },
];

function expectHarmless(): void {
  expect(existsSync(pwned)).toBe(false);
  const asked = seen.map(({ path }) => decodeURIComponent(path));
  for (const name of harmful) expect(asked).toContainEqual(expect.stringContaining(`/system/services/${name}`));
}

describe("completion", () => {
  it("at a prompt of bash inserts words, names and files, and runs nothing of a name", async () => {
    const setup = `. ${scripts["bash"]}; cd ${workspace.path()}; PS1='g''o: '\r`;
    const run = await runInTerminal(workspace, ["/bin/bash", "--norc", "--noprofile", "-i"], {
      columns: 400,
      environment: { ...environment, PS1: "$ " },
      steps: [{ wait: "$ ", send: setup }, ...typed((_, completed) => completed)],
    });
    expect(run).toMatchObject({ left: [] });
    expectHarmless();
  });

  where("zsh", () => {
    it("at a prompt of zsh inserts words, names and files, and runs nothing of a name", async () => {
      const setup = `autoload -U compinit; compinit -u -D; . ${scripts["zsh"]}; cd ${workspace.path()}; unsetopt zle_bracketed_paste; PS1='g''o: '\r`;
      const run = await runInTerminal(workspace, ["/usr/bin/zsh", "-f", "-i"], {
        columns: 400,
        environment: { ...environment, PS1: "$ ", TERM: "dumb" },
        steps: [{ wait: "$ ", send: setup }, ...typed((line, completed) => completed.slice(line.length))],
      });
      expect(run).toMatchObject({ left: [] });
      expectHarmless();
    });
  });

  where("fish", () => {
    it("in fish offers words, names and files", async () => {
      const program = `source ${scripts["fish"]}; while read -l line; complete -C $line | string replace -r '\\t.*' '' | string join ' '; end; exit 0`;
      const input = `${lines.map(([line]) => line).join("\n")}\n`;
      const ran = await runProgram(workspace, ["/usr/bin/fish", "--no-config", "-c", program], { input, environment });
      // It quotes what it inserts, and lists it as it is.
      const words = lines.map(([, completed]) => completed.split(" ").at(-1)?.replaceAll(/\\(.)/g, "$1"));
      expect({ ...ran, stdout: ran.stdout.trimEnd().split("\n") }).toEqual({ code: 0, stdout: words, stderr: "" });
    });
  });
});

describe("man pages", () => {
  const directory = workspace.path("man");
  beforeAll(async () => {
    const argv = [process.execPath, join(root, "scripts/man-pages.ts"), directory] as const;
    const { code, stdout } = await runProgram(workspace, argv, { environment: { SOURCE_DATE_EPOCH: "1769868000" } });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/: \d+ pages\n$/)]);
  });

  where("groff", () => {
    it("are well-formed for groff, with every warning that there is", async () => {
      const files = readdirSync(directory).map((file) => join(directory, file));
      const argv = ["/usr/bin/groff", "-man", "-Tutf8", "-ww", "-z", ...files] as const;
      expect(await runProgram(workspace, argv)).toEqual({ code: 0, stdout: "", stderr: "" });
    });
  });

  where("mandoc", () => {
    it("are well-formed for mandoc", async () => {
      const files = readdirSync(directory).map((file) => join(directory, file));
      const argv = ["/usr/bin/mandoc", "-T", "lint", "-W", "warning", ...files] as const;
      expect(await runProgram(workspace, argv)).toEqual({ code: 0, stdout: "", stderr: "" });
    });
  });
});
