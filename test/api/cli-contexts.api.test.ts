import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CliSetting, runInProcess } from "./cli-run.ts";

interface Answer {
  readonly status?: number;
  readonly body: object;
}

/** A host that answers by method and path, and never where it has no word for it. */
interface Host {
  readonly url: string;
  readonly server: Server;
  /** Calls with the keys that they came with. */
  readonly asked: string[];
  answers: Readonly<Record<string, Answer>>;
  onCall: (call: string) => void;
  /** Once a client has read an answer and closed its connection. */
  onRead: (call: string) => void;
}

const adminKey = "stw_abcdefgh_0123456789";
let directory: string;
let hosts: Host[];

async function startHost(): Promise<Host> {
  const server = createServer((request, response) => {
    const call = `${request.method} ${request.url?.replace("/api/v1", "")}`;
    host.asked.push(`${call} ${String(request.headers["x-api-key"])}`);
    host.onCall(call);
    const answer = host.answers[call];
    if (answer === undefined) return;
    request.socket.once("close", () => host.onRead(call));
    const headers = { "content-type": "application/json", connection: "close" };
    response.writeHead(answer.status ?? 200, headers).end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const host: Host = { url, server, asked: [], answers: {}, onCall: () => undefined, onRead: () => undefined };
  hosts.push(host);
  return host;
}

beforeEach(() => {
  hosts = [];
  directory = mkdtempSync(join(tmpdir(), "steward-cli-contexts-"));
  mkdirSync(join(directory, "steward"));
});
afterEach(() => {
  for (const { server } of hosts) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(directory, { recursive: true });
});

/** Makes contexts of hosts. */
function name(named: Readonly<Record<string, Host | string>>): void {
  const contexts = Object.entries(named).map(([each, host]) => {
    const keyFile = join(directory, `${each}.key`);
    writeFileSync(keyFile, `key-of-${each}\n`);
    return [each, { url: typeof host === "string" ? host : host.url, key_file: keyFile }];
  });
  writeFileSync(
    join(directory, "steward/contexts.yaml"),
    JSON.stringify({ contexts: Object.fromEntries(contexts) as object }),
  );
}

const steward = (argv: readonly string[], { environment, ...setting }: CliSetting = {}) =>
  runInProcess(argv, { environment: { XDG_CONFIG_HOME: directory, ...environment }, ...setting });

const keys = { "GET /auth/keys": { body: { keys: [] } } };

const plan = (step: string): Answer => ({
  body: { dry_run: true, steps: [step], units: [], packages: [], bytes: 0, requires_reboot: false },
});
const operation = (status: string, rest: object = {}): Answer => ({
  status: status === "running" ? 202 : 200,
  body: {
    id: "op_1",
    kind: "updates.apply",
    status,
    progress: { percent: 50, step: "half of it" },
    created_at: "2026-01-01T00:00:00Z",
    started_at: "2026-01-01T00:00:00Z",
    finished_at: null,
    result: null,
    error: null,
    log: [],
    ...rest,
  },
});
const updating = (end: Answer): Readonly<Record<string, Answer>> => ({
  "POST /updates/apply?dry_run=true": plan("update the editor"),
  "POST /updates/apply": operation("running"),
  "GET /operations/op_1": end,
});
const applied = (rest: object): Answer =>
  operation("done", {
    result: {
      success: true,
      operation_id: "op_1",
      packages: [],
      packages_updated: 1,
      snapshot_id: "",
      requires_restart: [],
      requires_reboot: false,
      error: null,
      ...rest,
    },
  });
const failed = operation("failed", { error: { code: "INTERNAL_ERROR", message: "no space" } });

/** Limits of hosts in the order in which these are asked; they end when a test says so. */
function createLimits() {
  const limits: AbortController[] = [];
  const timeout = (): AbortSignal => {
    const limit = new AbortController();
    limits.push(limit);
    return limit.signal;
  };
  const end = (at: number): void => limits.at(at)?.abort(new DOMException("timeout", "TimeoutError"));
  return { time: { timeout }, end };
}

describe("--context local", () => {
  const here = (url: string): CliSetting => {
    const adminKeyFile = join(directory, "admin.key");
    writeFileSync(adminKeyFile, adminKey);
    return {
      local: {
        localService: () =>
          Promise.resolve({
            url,
            adminKeyFile,
            readAdminKey: () => Promise.resolve({ text: adminKey, holder: "service" as const }),
          }),
        runChecks: () => Promise.resolve({ results: [] } as never),
      },
    };
  };

  it("is the service of this host, whatever the environment names", async () => {
    const [local, other] = [await startHost(), await startHost()];
    local.answers = keys;
    other.answers = keys;
    name({ web1: other });
    const environment = {
      STEWARD_URL: other.url,
      STEWARD_API_KEY: "key-of-other",
      STEWARD_CACERT: "/nowhere/ca.pem",
      STEWARD_CLIENT_CERT: "/nowhere/cert.pem",
      STEWARD_CLIENT_KEY: "/nowhere/key.pem",
    };
    const setting = { ...here(local.url), environment };
    expect(await steward(["keys", "list", "--context", "local"], setting)).toMatchObject({ code: 0, err: "" });
    expect([local.asked, other.asked]).toEqual([[`GET /auth/keys ${adminKey}`], []]);
    expect(await steward(["keys", "list", "--context", "local,web1"], setting)).toMatchObject({ code: 0, err: "" });
    expect(local.asked).toEqual([`GET /auth/keys ${adminKey}`, `GET /auth/keys ${adminKey}`]);
    expect(other.asked).toEqual(["GET /auth/keys key-of-web1"]);
    const named = { ...setting, environment: { STEWARD_API_KEY: "key-of-other", STEWARD_CONTEXT: "local" } };
    expect(await steward(["keys", "list"], named)).toMatchObject({ code: 0, err: "" });
    expect(local.asked.at(-1)).toBe(`GET /auth/keys ${adminKey}`);
  });

  it("is this host for the doctor, which runs the checks itself where no service runs", async () => {
    const gone = await startHost();
    gone.server.close();
    const setting = { ...here(gone.url), environment: { STEWARD_URL: "http://127.0.0.1:2" } };
    const { err } = await steward(["doctor", "--context", "local", "--check", "x"], setting);
    expect(err).toContain("checking without the service");
  });
});

describe("a change of several hosts", () => {
  it("names the reason of each failure, and shows each plan once", async () => {
    const [web1, web2, web3] = [await startHost(), await startHost(), await startHost()];
    web1.answers = updating(failed);
    web2.answers = updating(applied({}));
    web3.answers = updating(applied({ success: false, error: "the editor is held" }));
    name({ web1, web2, web3 });
    const { code, out, err } = await steward(["updates", "apply", "--all", "--yes"]);
    expect({ code, err }).toEqual({
      code: 1,
      err: "web1: updates.apply op_1 failed: no space\nweb3: the editor is held\n",
    });
    expect(out.match(/update the editor/g)).toHaveLength(3);
    expect(out).toMatch(/\nHOST +ANSWER\nweb2 +1 package updated\nweb3 +1 package updated, with problems\n$/);
    const json = await steward(["updates", "apply", "--all", "--yes", "--json"]);
    expect(JSON.parse(json.out)).toMatchObject([
      { context: "web1", exit_code: 1 },
      { context: "web2", exit_code: 0, answer: { packages_updated: 1 } },
      { context: "web3", exit_code: 1 },
    ]);
    expect(json.err).toContain("web1: updates.apply op_1 failed: no space\n");
  });

  it("says that the result is unknown where a host does not answer in time", async () => {
    const [quick, slow] = [await startHost(), await startHost()];
    quick.answers = updating(applied({}));
    slow.answers = { "POST /updates/apply?dry_run=true": plan("update the editor") };
    name({ quick, slow });
    const line =
      "it was started, and how it ended is not known: no answer within 2 s (steward --context slow operations shows what runs and has run)";
    const change = (...more: readonly string[]) => {
      const { time, end } = createLimits();
      // Each host has a limit for its plan, then one for the change.
      slow.onCall = (call) => call === "POST /updates/apply" && end(3);
      return steward(["updates", "apply", "--all", "--yes", "--host-timeout", "2s", ...more], { time });
    };
    const { code, err } = await change();
    expect({ code, err }).toEqual({
      code: 1,
      err: `steward: how it ended is not known of 1 of 2 hosts:\n  slow: ${line}\n`,
    });
    expect(JSON.parse((await change("--json")).out)).toMatchObject([
      { context: "quick", ok: true },
      { context: "slow", ok: false, error: line },
    ]);
    const { time, end } = createLimits();
    slow.onCall = (call) => call === "POST /updates/apply" && end(1);
    const alone = await steward(["updates", "apply", "--context", "slow,", "--yes"], { time });
    expect(alone.code).toBe(1);
  });

  it("distinguishes a host that refused, one that did not answer, and one whose answer is lost", async () => {
    const [busy, lost] = [await startHost(), await startHost()];
    const silence = plan("silence DiskSpaceLow");
    const body = { error: { code: "CONFLICT", message: "another one runs" } };
    for (const host of [busy, lost]) host.answers = { "POST /alerts/silences?dry_run=true": silence };
    busy.answers = { ...busy.answers, "POST /alerts/silences": { status: 409, body } };
    lost.onCall = (call) => call === "POST /alerts/silences" && lost.server.closeAllConnections();
    name({ busy, lost });
    const { code, err } = await steward(["alerts", "silence", "DiskSpaceLow", "--for", "1h", "--all", "--yes"]);
    expect(code).toBe(1);
    expect(err).toMatch(
      /^steward: 1 of 2 hosts did not do it:\n {2}busy: another one runs \(CONFLICT\)\nsteward: how it ended is not known of 1 of 2 hosts:\n {2}lost: cannot reach the service: [^\n]*; whether it was done is not known \(steward --context lost operations [^\n]*\)\n$/,
    );
  });

  it("ends at Ctrl-C with one line that names the host of which the result is unknown", async () => {
    const [done, slow] = [await startHost(), await startHost()];
    const ctrlC = new AbortController();
    done.answers = updating(applied({}));
    slow.answers = { "POST /updates/apply?dry_run=true": plan("update the editor") };
    const awaited = new Set(["slow POST /updates/apply", "done GET /operations/op_1"]);
    const seen = async (call: string): Promise<void> => {
      if (!awaited.delete(call) || awaited.size > 0) return;
      // What the command line has read it also uses.
      for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
      ctrlC.abort();
    };
    slow.onCall = (call) => void seen(`slow ${call}`);
    done.onRead = (call) => void seen(`done ${call}`);
    name({ done, slow });
    const { code, out, err } = await steward(["updates", "apply", "--all", "--yes"], { interrupt: ctrlC.signal });
    expect({ code, err }).toEqual({
      code: 130,
      err: "steward: ended by Ctrl-C: it was started at slow, and how it ended is not known (steward --context slow operations shows what runs and has run)\n",
    });
    expect(out).toMatch(/done +1 package updated\n$/);
  });

  it("begins nothing after Ctrl-C during planning", async () => {
    const [web1, slow] = [await startHost(), await startHost()];
    const ctrlC = new AbortController();
    web1.answers = updating(failed);
    slow.onCall = () => ctrlC.abort();
    name({ web1, slow });
    const { code, err } = await steward(["updates", "apply", "--all", "--yes"], { interrupt: ctrlC.signal });
    expect({ code, err }).toEqual({ code: 130, err: "steward: ended by Ctrl-C\n" });
    expect(web1.asked.filter((call) => call.startsWith("POST /updates/apply "))).toEqual([]);
  });
});

describe("a command line for several hosts", () => {
  it.each([
    [["--all"], /^steward: cannot ask several hosts without a command: [^\n]+\n$/],
    [["--context", "web1,web2"], /^steward: cannot ask several hosts without a command: [^\n]+\n$/],
    [["--all", "status", "--bogus"], /^steward: unknown option '--bogus'[^\n]*\n$/],
    [["--all", "logs", "-fu", "nginx"], /^steward: cannot do this for several hosts: -f is for one [^\n]+\n$/],
    [["--all", "logs", "-rf"], /^steward: cannot do this for several hosts: -f is for one [^\n]+\n$/],
    [
      ["--all", "status", "--url", "http://x"],
      /^steward: cannot tell which hosts are meant: --url and --all [^\n]+\n$/,
    ],
    [["--all", "staus"], /^steward: unknown command 'staus'[^\n]*\n$/],
  ])("is refused once where it is invalid: %j", async (argv, said) => {
    const [web1, web2] = [await startHost(), await startHost()];
    for (const host of [web1, web2]) host.answers = { "GET /plugins": { body: { plugins: [] } } };
    name({ web1, web2 });
    const { code, out, err } = await steward(argv);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(said);
  });

  it("may have a value that looks like a flag", async () => {
    const web1 = await startHost();
    web1.answers = { "GET /auth/keys": { body: { keys: [] } } };
    name({ web1 });
    const { time, end } = createLimits();
    web1.onCall = () => end(0);
    const { err } = await steward(["--all", "logs", "-gf", "-u", "-f", "--host-timeout", "1s"], { time });
    expect(err).toContain("web1: no answer within 1 s");
  });

  it("prints its version without asking a host", async () => {
    expect(await steward(["--all", "--version"])).toEqual({ code: 0, out: "1.2.3\n", err: "" });
  });

  it("shows the output of a plugin of each host, and passes on all arguments", async () => {
    const [m1, m2] = [await startHost(), await startHost()];
    const texts = { version: "1", type: "command", author: "", description: "", path: "/p" };
    const plugin = { name: "greet", ...texts, enabled: true, permissions: [], needs_confirmation: false, fault: null };
    const ran = { exit_code: 3, stdout: "hello\nworld\n", stderr: "no space\n", duration_ms: 5, truncated: false };
    for (const host of [m1, m2])
      host.answers = {
        "GET /plugins": { body: { plugins: [plugin] } },
        "POST /plugins/greet/run?dry_run=true": plan("run greet"),
        "POST /plugins/greet/run": { body: ran },
      };
    name({ m1, m2 });
    const { code, out, err } = await steward(["--context", "m1,m2", "--yes", "greet", "serve", "--help", "-f"]);
    expect({ code, err }).toEqual({
      code: 1,
      err: ["m1", "m2"].map((each) => `${each}: no space\n${each}: it ended with exit code 3\n`).join(""),
    });
    expect(out).toMatch(/m1:\n {2}hello\n {2}world\nm2:\n {2}hello\n {2}world\n$/);
    m2.answers = { "GET /plugins": { body: { plugins: [] } } };
    const lacking = await steward(["--context", "m1,m2", "--yes", "greet"]);
    expect([lacking.code, lacking.err]).toEqual([1, expect.stringContaining("1 of 2 hosts did not do it:\n  m2: ")]);
  });
});

describe("an address with a path", () => {
  it("is refused without showing the password in it", async () => {
    const { code, err } = await steward(["status", "--url", "https://me:word@proxy/x"]);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("cannot use https://proxy with what") });
    expect(err).not.toContain("word");
  });
});

describe("commands for a person to paste", () => {
  it("name the same service and the same key", async () => {
    const web1 = await startHost();
    web1.answers = updating(applied({}));
    name({ web1 });
    const keyFile = join(directory, "it's a key");
    writeFileSync(keyFile, "secret-of-file");
    const argv = ["updates", "apply", "--yes", "--no-wait"];
    const hint = async (...more: readonly string[]): Promise<string> => {
      const { err } = await steward([...argv, ...more]);
      return /steward: started; to follow it: (.*)\n$/.exec(err)?.[1] ?? err;
    };
    expect(await hint("--context", "web1")).toBe("steward --context web1 operations watch op_1");
    expect(await hint("--url", web1.url, "--key-file", keyFile)).toBe(
      `steward --url ${web1.url} --key-file '${directory}/it'\\''s a key' operations watch op_1`,
    );
    const environment = { STEWARD_URL: web1.url, STEWARD_API_KEY: "secret-of-environment" };
    expect((await steward(argv, { environment })).err).toBe(
      "steward: started; to follow it: steward operations watch op_1\n",
    );
    const several = await steward([...argv, "--context", "web1,"]);
    expect(several.err).toBe("web1: started; to follow it: steward --context web1 operations watch op_1\n");
  });
});

describe("steward context with --json", () => {
  it("reports what it did", async () => {
    const json = async (...argv: readonly string[]): Promise<unknown> => {
      const { code, out, err } = await steward(["context", ...argv, "--json"], { stdin: "secret\n" });
      expect({ code, err, isSecret: out.includes("secret") }).toEqual({ code: 0, err: "", isSecret: false });
      return JSON.parse(out);
    };
    const entry = { url: "https://web1:8470", key_file: "/k", cacert: null, cert: null, cert_key: null };
    expect(await json("add", "web1", "https://web1:8470/", "--key-file", "/k")).toEqual({
      name: "web1",
      current: true,
      ...entry,
    });
    expect(await json("add", "web2", "https://web1:8470")).toMatchObject({ name: "web2", current: false });
    expect(await json("use", "web2")).toEqual({ current: "web2" });
    expect(await json("remove", "web1")).toEqual({ removed: "web1", current: "web2" });
    expect(await json("remove", "web2")).toEqual({ removed: "web2", current: "local" });
    expect(await json("use", "local")).toEqual({ current: "local" });
  });
});

describe("files with secrets that every user can read", () => {
  const open = (path: string) => chmodSync(path, 0o644);
  const warnings = (err: string) => err.split("\n").filter((line) => line.startsWith("steward: warning:"));

  it("are warned of once, with the chmod command", async () => {
    const [web1, web2] = [await startHost(), await startHost()];
    for (const host of [web1, web2]) host.answers = keys;
    name({ web1, web2 });
    const file = join(directory, "steward", "contexts.yaml");
    const keyFile = join(directory, "web1.key");
    for (const path of [file, keyFile]) open(path);
    chmodSync(join(directory, "web2.key"), 0o600);
    // Nobody gets through the directory: what is in it is open to nobody.
    expect(warnings((await steward(["--context", "web1", "keys", "list", "--json"])).err)).toEqual([]);
    for (const path of [directory, join(directory, "steward")]) chmodSync(path, 0o755);
    const expected = [file, keyFile].map(
      (path) => `steward: warning: every user of this host can read ${path} (chmod o= ${path})`,
    );
    const single = await steward(["--context", "web1", "keys", "list", "--json"]);
    expect([single.code, warnings(single.err)]).toEqual([0, expected]);
    expect(JSON.parse(single.out)).toMatchObject({ keys: [] });
    const all = await steward(["--all", "keys", "list", "--json"]);
    expect([all.code, warnings(all.err)]).toEqual([0, expected]);
    expect(() => JSON.parse(all.out) as unknown).not.toThrow();
    const given = await steward(["--url", web1.url, "--key-file", keyFile, "keys", "list"]);
    expect(warnings(given.err)).toEqual([expected[1]]);
    chmodSync(keyFile, 0o640);
    expect(warnings((await steward(["--context", "web1", "keys", "list"])).err)).toEqual([expected[0]]);
    chmodSync(file, 0o602);
    expect(warnings((await steward(["--context", "web1", "keys", "list"])).err)).toEqual([
      `steward: warning: every user of this host can change ${file} (chmod o= ${file})`,
    ]);
    chmodSync(file, 0o600);
    expect(warnings((await steward(["--context", "web1", "keys", "list"])).err)).toEqual([]);
  });

  it("are quoted for a shell in the warning", async () => {
    const host = await startHost();
    host.answers = keys;
    chmodSync(directory, 0o755);
    const keyFile = join(directory, "it's a key");
    writeFileSync(keyFile, adminKey, { mode: 0o644 });
    chmodSync(keyFile, 0o644);
    const { err } = await steward(["--url", host.url, "--key-file", keyFile, "keys", "list"]);
    expect(warnings(err)).toEqual([
      `steward: warning: every user of this host can read ${keyFile} (chmod o= '${directory}/it'\\''s a key')`,
    ]);
  });
});
