import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { nameSources } from "#cli/completion/name-sources.ts";
import { where } from "./support/optional-program.ts";
import { runProgram, runSteward } from "./support/program.ts";
import { mainFile, startService } from "./support/service.ts";
import { runInTerminal, type Step } from "./support/terminal.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
const key = "stw_test0000_secret";
const pwned = workspace.path("pwned");

/** What a service that means harm, or a host with odd units, may list. */
const harmful = [`h1$(touch\${IFS}${pwned})`, `h2\`touch\${IFS}${pwned}\``, `h3;touch\${IFS}${pwned};`];
const hostile = [...harmful, "zz\u001b[2J", "zz\nyy", "zz yy", "zz\u202eyy", `zz${"a".repeat(300)}`, "--yes"];

const lists: Readonly<Record<string, readonly string[]>> = {
  units: ["apt-daily.timer", "dev-disk-by\\x2dlabel.device", "getty@tty1.service", "nginx.service", ...hostile],
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
let answering: Answering = answer;
let seen: { path: string; key: string | undefined }[] = [];
const server = createServer((request, reply) => {
  const url = request.url ?? "";
  seen.push({ path: url, key: String(request.headers["x-api-key"]) });
  const [path] = url.split("?");
  const source = Object.values(nameSources).find((each) => `/api/v1${each.path}` === path);
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
  Object.assign(environment, {
    PATH: `${workspace.path("bin")}:/usr/local/bin:/usr/bin:/bin`,
    STEWARD_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    STEWARD_API_KEY: key,
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

const complete = (argv: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  runSteward(workspace, ["__complete", ...argv], { ...environment, ...more });

/** Lines, and what the shell makes of them after Tab. */
const unique: readonly (readonly [line: string, completed: string])[] = [
  ["steward services restart ngi", "steward services restart nginx.service"],
  ["steward services status getty@", "steward services status getty@tty1.service"],
  ["steward services stop odd", String.raw`steward services stop odd\&name.service`],
  ["steward services stop quo", String.raw`steward services stop quo\'te.service`],
  ["steward logs -u apt", "steward logs -u apt-daily.timer"],
  ["steward logs --unit=ngi", "steward logs --unit=nginx.service"],
  ["steward logs -u dev", String.raw`steward logs -u dev-disk-by\\x2dlabel.device`],
  ["steward check my_", "steward check my_plugin_check"],
  ["steward rollback 2026", "steward rollback 20260131-120000"],
  ["steward packages install ngi", "steward packages install nginx-light"],
  ["steward plugins enable back", "steward plugins enable backup-report"],
  ["steward keys revoke Ab", "steward keys revoke Ab3dEf7h"],
];

describe("the command that shells run", () => {
  it("asks with the key and address of the command line, and for what was typed where that is searched", async () => {
    const ran = await complete([
      "plain",
      "installed",
      "ngi",
      "0",
      "--url",
      environment["STEWARD_URL"] ?? "",
      "packages",
    ]);
    expect(ran).toEqual({ code: 0, stdout: "nginx-light\n", stderr: "" });
    expect(seen).toEqual([{ path: "/api/v1/packages?limit=1000&installed=true&search=ngi", key }]);
  });

  it("uses the context that is named", async () => {
    const file = workspace.path("context.key");
    writeFileSync(file, "stw_context0_secret\n", { mode: 0o600 });
    const own = { XDG_CONFIG_HOME: workspace.path("config") };
    const added = await runSteward(
      workspace,
      ["context", "add", "web1", environment["STEWARD_URL"] ?? "", "--key-file", file],
      own,
    );
    expect(added).toMatchObject({ code: 0 });
    const ran = await complete(["escaped", "key", "", "0", "--context", "'web1'", "keys", "revoke"], {
      ...own,
      STEWARD_URL: "",
      STEWARD_API_KEY: "",
    });
    expect(ran).toEqual({ code: 0, stdout: "Ab3dEf7h\n", stderr: "" });
    expect(seen.map((each) => each.key)).toEqual(["stw_context0_secret"]);
  });

  it.each<[string, Answering]>([
    ["refuses", (_, reply) => reply.writeHead(403).end('{"error":{"code":"FORBIDDEN","message":"no"}}')],
    ["answers nonsense", (_, reply) => reply.end("<html>")],
    ["answers something else", (_, reply) => reply.end('{"services":{"name":"x"},"units":[1,null,{"name":2}]}')],
    ["breaks off", (_, reply) => reply.destroy()],
  ])("says nothing where the service %s", async (_, how) => {
    answering = how;
    expect(await complete(["escaped", "unit", "", "0"])).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it.each([
    [["escaped", "unit", "", "0", "--context", "unknown"], {}],
    [["escaped", "unit", "", "0"], { STEWARD_URL: "http://127.0.0.1:1" }],
    [["escaped", "unit", "", "0"], { STEWARD_URL: "http://[" }],
    [["escaped", "constructor", "", "0"], {}],
    [["escaped"], {}],
    [[], {}],
  ])("says nothing where it cannot ask: %j %j", async (argv, more) => {
    expect(await complete(argv, more)).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("does not wait for a service that does not answer", async () => {
    answering = () => undefined;
    const ran = await complete(["escaped", "unit", "", "0"], { STEWARD_COMPLETION_MS: "" });
    expect(ran).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("offers no name that could move a cursor, be two words or be an option", async () => {
    expect((await complete(["plain", "service", "zz", "0"])).stdout).toBe("");
    expect((await complete(["plain", "service", "-", "0"])).stdout).toBe("");
  });
});

it("completes names of a service that runs", async () => {
  const service = await startService(workspace);
  const own = { STEWARD_URL: service.url, STEWARD_API_KEY: service.adminKey };
  const id = service.adminKey.split("_")[1];
  expect(await complete(["escaped", "key", "", "0"], own)).toEqual({ code: 0, stdout: `${id}\n`, stderr: "" });
  const units = await complete(["escaped", "unit", "system", "0"], own);
  expect(units).toMatchObject({ code: 0, stderr: "" });
});

/** What is typed at a prompt, with Tab after each line. */
const typed = (lines: typeof unique, shown: (line: string, completed: string) => string) =>
  lines.flatMap(([line, completed]) => [
    { wait: "go: ", send: `${line}\t` },
    { wait: shown(line, completed), send: "\u0015\r" },
  ]);
/** The command is run with a name as completion has left it. */
const runHarmful = harmful.flatMap((name) => [
  { wait: "go: ", send: `steward services status ${name.slice(0, 2)}\t` },
  { wait: "pwned", send: "\r" },
]);
const parts = [unique.slice(0, 6), unique.slice(6)];

function expectHarmless(): void {
  expect(existsSync(pwned)).toBe(false);
  const asked = seen.map(({ path }) => decodeURIComponent(path));
  for (const name of harmful) expect(asked).toContainEqual(expect.stringContaining(`/system/services/${name}`));
}

describe("bash", () => {
  const atPrompt = (steps: readonly Step[]) =>
    runInTerminal(workspace, ["/bin/bash", "--norc", "--noprofile", "-i"], {
      columns: 400,
      environment: { ...environment, PS1: "$ " },
      steps: [{ wait: "$ ", send: `. ${scripts["bash"]}; PS1='g''o: '\r` }, ...steps, { wait: "go: ", send: "exit\r" }],
    });

  it.each(parts)("completes names at the prompt: %s, …", async (...lines) => {
    const run = await atPrompt(typed(lines, (_, completed) => completed));
    expect(run).toMatchObject({ left: [] });
    expect(seen.every((each) => each.key === key)).toBe(true);
  });

  it("runs nothing of a name", async () => {
    expect(await atPrompt(runHarmful)).toMatchObject({ left: [] });
    expectHarmless();
  });

  it("keeps a quote that is open", async () => {
    const run = await runInTerminal(workspace, ["/bin/bash", "--norc", "--noprofile", "-i"], {
      columns: 200,
      environment: { ...environment, PS1: "$ " },
      steps: [
        { wait: "$ ", send: `. ${scripts["bash"]}; PS1='g''o: '\r` },
        { wait: "go: ", send: "steward services stop 'ngi\t" },
        { wait: "'nginx.service'", send: "\u0015exit\r" },
      ],
    });
    expect(run).toMatchObject({ left: [] });
  });
});

where("zsh", () => {
  describe("zsh", () => {
    const setup = () =>
      `autoload -U compinit; compinit -u -D; . ${scripts["zsh"]}; unsetopt zle_bracketed_paste; PS1='g''o: '`;
    const atPrompt = (steps: readonly Step[]) =>
      runInTerminal(workspace, ["/usr/bin/zsh", "-f", "-i"], {
        columns: 400,
        environment: { ...environment, PS1: "$ ", TERM: "dumb" },
        steps: [{ wait: "$ ", send: `${setup()}\r` }, ...steps, { wait: "go: ", send: "exit\r" }],
      });

    it.each(parts)("completes names at the prompt: %s, …", async (...lines) => {
      expect(await atPrompt(typed(lines, (line, completed) => completed.slice(line.length)))).toMatchObject({
        left: [],
      });
    });

    it("runs nothing of a name", async () => {
      expect(await atPrompt(runHarmful)).toMatchObject({ left: [] });
      expectHarmless();
    });
  });
});

where("fish", () => {
  it.each(parts)("fish completes names: %s, …", async (...some) => {
    const program = `source ${scripts["fish"]}; while read -l line; complete -C $line | string replace -r '\\t.*' '' | string join ' '; end; exit 0`;
    const lines = some.map(([line]) => line);
    const ran = await runProgram(workspace, ["/usr/bin/fish", "--no-config", "-c", program], {
      input: `${lines.join("\n")}\n`,
      environment,
    });
    // It quotes what it inserts, and lists it as it is.
    const names = some.map(([, completed]) => completed.split(" ").at(-1)?.replaceAll(/\\(.)/g, "$1"));
    expect({ ...ran, stdout: ran.stdout.trimEnd().split("\n") }).toEqual({ code: 0, stdout: names, stderr: "" });
  });
});
