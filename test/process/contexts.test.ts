import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliSetting, runInProcess } from "../api/cli-run.ts";
import { type RunningService, startService } from "./support/service.ts";
import { takenPort } from "./support/taken-port.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
/** Accepts connections and never says a word. */
const silent = createServer(() => undefined);
const config = workspace.path("settings");
let one: RunningService;
let two: RunningService;
let secret: RunningService;

const steward = (argv: readonly string[], { environment, ...setting }: CliSetting = {}) =>
  runInProcess(argv, { environment: { XDG_CONFIG_HOME: config, ...environment }, ...setting });
const keyFile = (name: string, key: string): string => {
  const path = workspace.path(`${name}.key`);
  writeFileSync(path, `${key}\n`, { mode: 0o600 });
  return path;
};
const add = async (name: string, url: string, { adminKey }: RunningService, ...more: readonly string[]) => {
  const argv = ["context", "add", name, url, "--key-file", keyFile(name, adminKey), ...more];
  expect(await steward(argv)).toMatchObject({ code: 0, err: "" });
};

beforeAll(async () => {
  one = await startService(workspace);
  two = await startService(workspace);
  const tls = "tls: auto\nupdates: { enabled: false }\nconnectors: { discover: false }\n";
  secret = await startService(workspace, { settings: tls });
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const gone = await takenPort();
  gone.release();
  const added = await steward(["context", "add", "one", `${one.url}/`], { stdin: `${one.adminKey}\n` });
  expect([added.code, added.out]).toEqual([0, expect.stringContaining("added one, which is used from now on")]);
  await add("two", two.url, two);
  await add("down", `http://127.0.0.1:${gone.port}`, one);
  await add("stranger", one.url, two);
  await add("untrusted", secret.url, secret);
  await add("secret", secret.url, secret, "--cacert", join(secret.stateDir, "tls-cert.pem"));
});
afterAll(async () => {
  silent.close();
  await workspace.dispose();
});

const idOf = ({ adminKey }: RunningService): string => adminKey.split("_")[1] ?? "";
const listed = async (argv: readonly string[] = [], environment = {}): Promise<string> =>
  (await steward(["keys", "list", "--json", ...argv], { environment })).out;

describe("the contexts of a command line", () => {
  it("keep the key from standard input in a private file, and forget it with the context alone", async () => {
    const [file, kept] = [join(config, "steward/contexts.yaml"), join(config, "steward/keys/one")];
    expect(readFileSync(file, "utf8")).not.toContain(one.adminKey);
    expect(readFileSync(kept, "utf8")).toBe(`${one.adminKey}\n`);
    expect([statSync(file).mode & 0o777, statSync(kept).mode & 0o777]).toEqual([0o600, 0o600]);
    await add("brief", one.url, one);
    expect((await steward(["context", "add", "kept", one.url], { stdin: one.adminKey })).code).toBe(0);
    for (const name of ["brief", "kept"]) expect((await steward(["context", "remove", name])).code).toBe(0);
    expect(statSync(workspace.path("brief.key")).isFile()).toBe(true);
    expect(() => statSync(join(config, "steward/keys/kept"))).toThrow(/ENOENT/);
  });

  it("are chosen by the command line, then the environment, then the current one", async () => {
    expect(await listed()).toContain(idOf(one));
    expect(await listed(["--context", "two"])).toContain(idOf(two));
    expect(await listed([], { STEWARD_CONTEXT: "two" })).toContain(idOf(two));
    expect(await listed(["--context", "one"], { STEWARD_CONTEXT: "two" })).toContain(idOf(one));
    const byUrl = { STEWARD_URL: two.url, STEWARD_API_KEY: two.adminKey };
    expect(await listed([], byUrl)).toContain(idOf(two));
    expect(await listed(["--context", "one"], byUrl)).toContain(idOf(one));
    expect((await steward(["context", "use", "two"])).code).toBe(0);
    expect(await listed()).toContain(idOf(two));
    expect((await steward(["context", "use", "one"])).code).toBe(0);
  });

  it.each<[readonly string[], Readonly<Record<string, string>>, string]>([
    [["context", "add", "local", "http://x"], {}, "cannot name a context local"],
    [["context", "add", "x", "web1:8470"], {}, "an address is such as https://web1:8470"],
    [["context", "add", "x", "https://me:word@web1"], {}, "cannot use https://web1 with what stands around it"],
    [["context", "add", "x", "http://x"], {}, "it needs a key"],
    [["context", "use", "nowhere"], {}, "cannot find the context nowhere"],
    [["context", "remove", "nowhere"], {}, "cannot find the context nowhere"],
    [["status", "--context", "one,nowhere"], {}, "cannot find the context nowhere"],
    [["status", "--context", "one", "--url", "http://x"], {}, "--context and --url both name one"],
    [["status"], { STEWARD_CONTEXT: "one", STEWARD_URL: "http://x" }, "STEWARD_CONTEXT and STEWARD_URL both name one"],
    [["status", "--all", "--context", "one"], {}, "--all and --context both name some"],
    [["status", "--all", "--host-timeout", "soon"], {}, "--host-timeout must be a time"],
    [["serve", "--all"], {}, "cannot do this for several hosts: serve is for one"],
    [["status", "--all"], { XDG_CONFIG_HOME: "/nowhere" }, "there is no context yet"],
  ])("are refused in one line: %j %j", async (argv, environment, said) => {
    const { code, out, err } = await steward(argv, { environment });
    expect([code, out, err]).toEqual([2, "", expect.stringMatching(/^steward: [^\n]+\n$/)]);
    expect(err).toContain(said);
  });
});

describe("several hosts at once", () => {
  it("answer in one table, and those that do not answer are listed with the reason", async () => {
    const { code, out, err } = await steward(["keys", "list", "--all"]);
    expect(code).toBe(1);
    const rows = out.trimEnd().split("\n");
    expect(rows[0]).toMatch(/^HOST {2,}ID {2,}NAME/);
    const hosts = rows.slice(1).map((line) => line.split(/\s+/)[0]);
    expect(new Set(hosts)).toEqual(new Set(["one", "secret", "two"]));
    expect(err.split("\n")).toEqual([
      "steward: 3 of 6 hosts did not answer:",
      expect.stringMatching(/^ {2}down: cannot reach the service: .*ECONNREFUSED/),
      expect.stringMatching(/^ {2}stranger: .*UNAUTHORIZED/),
      expect.stringMatching(/^ {2}untrusted: cannot trust the service: its certificate is signed by itself/),
      "",
    ]);
    const { port } = silent.address() as { port: number };
    await add("slow", `http://127.0.0.1:${port}`, one);
    const late = await steward(["keys", "list", "--context", "down,slow", "--host-timeout", "1s"]);
    expect([late.code, late.err]).toEqual([2, expect.stringMatching(/^ {2}slow: no answer within 1 s/m)]);
  });

  it("answer programs with what each said, and a test of them says what each key may do", async () => {
    const { code, out } = await steward(["keys", "list", "--context", "one,down,two", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject([
      { context: "one", ok: true, exit_code: 0, answer: { keys: [{ name: "admin" }] } },
      { context: "down", ok: false, error: expect.stringContaining("cannot reach the service") },
      { context: "two", ok: true, answer: { keys: [{ name: "admin" }] } },
    ]);
    expect((await steward(["keys", "list", "--context", "one,two"])).code).toBe(0);
    const tested = await steward(["context", "test", "one", "down", "--json"]);
    expect([tested.code, JSON.parse(tested.out)]).toMatchObject([
      1,
      [
        { context: "one", ok: true, answer: { key: "admin", scopes: expect.arrayContaining(["keys:admin"]) } },
        { context: "down", ok: false },
      ],
    ]);
  });

  it("are changed only where that is confirmed, and this host is never taken for one that is out of reach", async () => {
    const silences = async (name: string): Promise<number> => {
      const { out } = await steward(["alerts", "silences", "--json", "--context", name]);
      return (JSON.parse(out) as { silences: readonly object[] }).silences.length;
    };
    const silence = ["alerts", "silence", "DiskSpaceLow", "--for", "1h", "--context", "one,two"];
    const now = Date.now;
    const asked = await steward(silence, { now });
    expect(asked).toMatchObject({ code: 2, err: "steward: nothing was done: this changes 2 hosts (--yes does it)\n" });
    expect(asked.out).toMatch(/^one:\n {2}1\. .*DiskSpaceLow.*\ntwo:\n {2}1\. /);
    expect([await silences("one"), await silences("two")]).toEqual([0, 0]);
    expect(await steward([...silence, "--yes"], { now })).toMatchObject({ code: 0, err: "" });
    expect([await silences("one"), await silences("two")]).toEqual([1, 1]);
    expect(await steward(["doctor", "--context", "down"])).toMatchObject({
      ...{ code: 2, out: "" },
      err: expect.stringMatching(/^steward: cannot reach the service: .*\n$/),
    });
  });
});
