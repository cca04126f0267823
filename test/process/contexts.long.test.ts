import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ran, runProgram } from "./support/program.ts";
import { mainFile, type RunningService, startService } from "./support/service.ts";
import { takenPort } from "./support/taken-port.ts";
import { runInTerminal } from "./support/terminal.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
/** Accepts connections and never says a word. */
const silent = createServer(() => undefined);
/** Says what it would do, and never ends doing it. */
const endless = createHttpServer(({ url = "" }, response) => {
  if (!url.includes("dry_run=true")) return;
  const plan = { dry_run: true, steps: ["be endless"], units: [], packages: [], bytes: 0, requires_reboot: false };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(plan));
});

let one: RunningService;
let two: RunningService;
let secret: RunningService;
let deadUrl: string;
let silentUrl: string;
let endlessUrl: string;
let config: string;

const keyFile = (name: string, key: string): string => {
  const path = workspace.path(`${name}.key`);
  writeFileSync(path, `${key}\n`, { mode: 0o600 });
  return path;
};

const steward = (
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  input = "",
): Promise<Ran> =>
  runProgram(workspace, [process.execPath, mainFile, ...argv], {
    environment: { XDG_CONFIG_HOME: config, ...environment },
    input,
  });

const added = async (...argv: readonly string[]): Promise<void> => {
  const { code, stderr } = await steward(["context", "add", ...argv]);
  expect([code, stderr]).toEqual([0, ""]);
};

beforeAll(async () => {
  config = workspace.path("settings");
  // One after the other: each has its own time limit.
  one = await startService(workspace);
  two = await startService(workspace);
  secret = await startService(workspace, {
    settings: "tls: auto\nupdates: { enabled: false }\nconnectors: { discover: false }\n",
  });
  const gone = await takenPort();
  gone.release();
  deadUrl = `http://127.0.0.1:${gone.port}`;
  silent.listen(0, "127.0.0.1");
  endless.listen(0, "127.0.0.1");
  const urlOf = async (server: typeof silent): Promise<string> => {
    const address = await until("an address", () => server.address() ?? undefined);
    if (typeof address === "string") throw new Error("not a TCP address");
    return `http://127.0.0.1:${address.port}`;
  };
  silentUrl = await urlOf(silent);
  endlessUrl = await urlOf(endless);
});
afterAll(async () => {
  silent.close();
  endless.closeAllConnections();
  endless.close();
  await workspace.dispose();
});

describe("steward context", () => {
  it("keeps hosts by name, their keys in files of their own, and uses the first by default", async () => {
    const first = await steward(["context", "add", "one", `${one.url}/`], {}, `${one.adminKey}\n`);
    expect([first.code, first.stdout]).toEqual([0, expect.stringContaining("added one, which is used from now on")]);
    const file = join(config, "steward/contexts.yaml");
    const kept = join(config, "steward/keys/one");
    expect(readFileSync(file, "utf8")).not.toContain(one.adminKey);
    expect(readFileSync(kept, "utf8")).toBe(`${one.adminKey}\n`);
    expect([statSync(file).mode & 0o777, statSync(kept).mode & 0o777]).toEqual([0o600, 0o600]);

    await added("two", two.url, "--key-file", keyFile("two", two.adminKey));
    const listed = JSON.parse((await steward(["context", "--json"])).stdout) as object;
    expect(listed).toMatchObject({
      current: "one",
      contexts: [
        { name: "one", url: one.url, current: true, key_file: kept },
        { name: "two", url: two.url, current: false, key_file: workspace.path("two.key") },
      ],
    });
    const stateDirs = async (...argv: readonly string[]): Promise<string> =>
      (await steward(["keys", "list", "--json", ...argv])).stdout;
    const idOf = (service: RunningService): string => service.adminKey.split("_")[1] ?? "";
    expect(await stateDirs()).toContain(idOf(one));
    expect(await stateDirs("--context", "two")).toContain(idOf(two));
    expect((await steward(["keys", "list", "--json"], { STEWARD_CONTEXT: "two" })).stdout).toContain(idOf(two));
    expect((await steward(["context", "use", "two"])).code).toBe(0);
    expect(await stateDirs()).toContain(idOf(two));
    // The command line stands above the environment, that above what is used otherwise.
    expect(
      (await steward(["keys", "list", "--json", "--context", "one"], { STEWARD_CONTEXT: "two" })).stdout,
    ).toContain(idOf(one));
    const byUrl = { STEWARD_URL: one.url, STEWARD_API_KEY: one.adminKey };
    expect((await steward(["keys", "list", "--json"], byUrl)).stdout).toContain(idOf(one));
    expect((await steward(["keys", "list", "--json", "--context", "two"], byUrl)).stdout).toContain(idOf(two));
  });

  it.each([
    [["context", "add", "local", "http://x"], {}, "cannot call a context local"],
    [["context", "add", "a,b", "http://x"], {}, "cannot call a context"],
    [["context", "add", "../x", "http://x"], {}, "cannot call a context"],
    [["context", "add", "x", "web1:8470"], {}, "an address is such as https://web1:8470"],
    [["context", "add", "x", "https://me:word@web1"], {}, "cannot use https://web1 with what stands around it"],
    [["context", "add", "x", "http://x"], {}, "it needs a key"],
    [["context", "use", "nowhere"], {}, "cannot find the context nowhere"],
    [["context", "remove", "nowhere"], {}, "cannot find the context nowhere"],
    [["status", "--context", "nowhere"], {}, "cannot find the context nowhere"],
    [["status", "--context", "one", "--url", "http://x"], {}, "--context and --url both name one"],
    [["status"], { STEWARD_CONTEXT: "one", STEWARD_URL: "http://x" }, "STEWARD_CONTEXT and STEWARD_URL both name one"],
    [["status", "--all", "--context", "one"], {}, "--all and --context both name some"],
    [["status", "--context", "one,nowhere"], {}, "cannot find the context nowhere"],
    [["status", "--all", "--host-timeout", "soon"], {}, "--host-timeout must be a time"],
    [["serve", "--all"], {}, "cannot do this for several hosts: serve is for one"],
    [["logs", "-f", "--all"], {}, "cannot do this for several hosts: -f is for one"],
    [["logs", "-fu", "nginx", "--all"], {}, "cannot do this for several hosts: -f is for one"],
    [["--all"], {}, "cannot ask several hosts without a command"],
    [["status", "--context", "one,two", "--bogus"], {}, "unknown option '--bogus'"],
    [["context", "add", "x", "https://proxy/web7?a"], {}, "cannot use https://proxy with what stands around it"],
    [["status", "--url", "http://me:word@h"], {}, "cannot use http://h with what stands around it"],
  ] as const)("says of %j %j what is wrong", async (argv, environment, said) => {
    const { code, stdout, stderr } = await steward(argv, environment);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^steward: [^\n]+\n$/);
    expect(stderr).toContain(said);
  });

  it("forgets a host and the key that it kept, and leaves the keys of others where they are", async () => {
    const file = keyFile("brief", one.adminKey);
    await added("brief", one.url, "--key-file", file);
    expect((await steward(["context", "add", "kept", one.url], {}, one.adminKey)).code).toBe(0);
    for (const name of ["brief", "kept"]) expect((await steward(["context", "remove", name])).code).toBe(0);
    expect(statSync(file).isFile()).toBe(true);
    expect(() => statSync(join(config, "steward/keys/kept"))).toThrow(/ENOENT/);
  });

  it("says where and why contexts cannot be read", async () => {
    const broken = workspace.path("broken");
    const { code } = await steward(["context", "add", "one", one.url], { XDG_CONFIG_HOME: broken }, one.adminKey);
    expect(code).toBe(0);
    const file = join(broken, "steward/contexts.yaml");
    for (const [text, why] of [
      ["contexts: { x: 1 }", "x must be a mapping with url and key_file or cert"],
      ["contexts: { x: { url: 'http://x', key: stw_x } }", "x has key, which no context has"],
      ["contexts: [", "Flow sequence"],
    ] as const) {
      writeFileSync(file, text);
      const { code: failed, stderr } = await steward(["status"], { XDG_CONFIG_HOME: broken });
      expect([failed, stderr]).toEqual([2, expect.stringContaining(`cannot use ${file}: ${why}`)]);
    }
  });
});

describe("several hosts at once", () => {
  beforeAll(async () => {
    await added("down", deadUrl, "--key-file", keyFile("down", one.adminKey));
    await added("slow", silentUrl, "--key-file", keyFile("slow", one.adminKey));
    await added("stranger", one.url, "--key-file", keyFile("stranger", two.adminKey));
    await added("untrusted", secret.url, "--key-file", keyFile("secret", secret.adminKey));
    await added(
      "secret",
      secret.url,
      "--key-file",
      keyFile("secret", secret.adminKey),
      "--cacert",
      join(secret.stateDir, "tls-cert.pem"),
    );
  });

  it("answers in one table, and lists apart who did not answer and why", async () => {
    const { code, stdout, stderr } = await steward(["keys", "list", "--all", "--host-timeout", "15s"]);
    expect(code).toBe(1);
    const rows = stdout.split("\n").filter((line) => line !== "");
    expect(rows[0]).toMatch(/^HOST {2,}ID {2,}NAME/);
    const hosts = rows.slice(1).map((line) => line.split(/\s+/)[0]);
    expect(new Set(hosts)).toEqual(new Set(["one", "secret", "two"]));
    const lines = stderr.split("\n");
    expect(lines[0]).toBe("steward: 4 of 7 hosts did not answer:");
    expect(stderr).toMatch(/^ {2}down: cannot reach the service: .*ECONNREFUSED/m);
    expect(stderr).toMatch(/^ {2}slow: no answer within 15 s/m);
    expect(stderr).toMatch(/^ {2}stranger: .*UNAUTHORIZED/m);
    expect(stderr).toMatch(
      /^ {2}untrusted: cannot trust the service: its certificate is signed by itself \(--cacert FILE names/m,
    );
    expect(lines).toHaveLength(6);
  });

  it("answers programs with what each host said", async () => {
    const { code, stdout } = await steward(["keys", "list", "--context", "one,down,two", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject([
      { context: "one", ok: true, exit_code: 0, answer: { keys: [{ name: "admin" }] } },
      { context: "down", ok: false, error: expect.stringContaining("cannot reach the service") },
      { context: "two", ok: true, answer: { keys: [{ name: "admin" }] } },
    ]);
    expect((await steward(["keys", "list", "--context", "one,two"])).code).toBe(0);
    expect((await steward(["keys", "list", "--context", "down,stranger"])).code).toBe(2);
    expect((await steward(["keys", "list", "--context", "one", "--json"])).stdout).toMatch(/^\{\n/);
  });

  it("shows what would change each host, and does it only when told", async () => {
    const silences = async (name: string): Promise<number> => {
      const { stdout } = await steward(["alerts", "silences", "--json", "--context", name]);
      return (JSON.parse(stdout) as { silences: readonly object[] }).silences.length;
    };
    const silence = ["alerts", "silence", "DiskSpaceLow", "--for", "1h", "--context", "one,two"];
    const asked = await steward(silence);
    expect([asked.code, asked.stderr]).toEqual([
      2,
      "steward: nothing was done: this changes 2 hosts (--yes does it)\n",
    ]);
    expect(asked.stdout).toMatch(/^one:\n {2}1\. .*DiskSpaceLow.*\ntwo:\n {2}1\. /);
    expect([await silences("one"), await silences("two")]).toEqual([0, 0]);
    const done = await steward([...silence, "--yes"]);
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect([await silences("one"), await silences("two")]).toEqual([1, 1]);
  });

  it.each([
    ["begun", ["--yes"], ["be endless", "asking"], /it was begun at endless, .*steward --context endless operations/],
    ["asked", ["--host-timeout", "10s"], ["asking"], /ended by Ctrl-C$/],
  ])("leaves no line behind at Ctrl-C when a change is %s", async (which, more, waits, said) => {
    const named = workspace.path(`terminal-${which}`);
    const environment = { XDG_CONFIG_HOME: named };
    const url = which === "begun" ? endlessUrl : silentUrl;
    const { code: isAdded } = await steward(["context", "add", "endless", url], environment, one.adminKey);
    expect(isAdded).toBe(0);
    const argv = ["alerts", "silence", "DiskSpaceLow", "--for", "1h", "--all", ...more];
    const steps = waits.map((wait, at) => (at === waits.length - 1 ? { wait, send: "\u0003" } : { wait }));
    const { code, output, left } = await runInTerminal(workspace, [process.execPath, mainFile, ...argv], {
      environment,
      columns: 250,
      steps,
    });
    expect([code, left]).toEqual([130, []]);
    const last = output.trimEnd().split("\n").at(-1) ?? "";
    const [shown = ""] = last.split("\r\u001b[K").slice(-1);
    expect(shown).toMatch(/^steward: /);
    expect(shown).toMatch(said);
  });

  it("tests hosts, and says what each key may do", async () => {
    const { code, stdout } = await steward(["context", "test", "one", "down", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject([
      { context: "one", ok: true, answer: { key: "admin", scopes: expect.arrayContaining(["keys:admin"]) } },
      { context: "down", ok: false },
    ]);
    expect((await steward(["context", "test", "untrusted"])).code).toBe(2);
    expect((await steward(["context", "test", "secret"])).code).toBe(0);
  });

  it("never takes this host for another that is out of reach", async () => {
    const { code, stdout, stderr } = await steward(["doctor", "--context", "down"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^steward: cannot reach the service: .*\n$/);
  });

  it("asks all where there is none", async () => {
    const { code, stderr } = await steward(["status", "--all"], { XDG_CONFIG_HOME: workspace.path("nothing") });
    expect([code, stderr]).toEqual([2, expect.stringContaining("there is no context yet")]);
  });
});
