import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Plugin } from "#contract/plugins.ts";
import { complaint, printed, refusal, runInProcess } from "./cli-run.ts";
import { createTestPlugins, startTestService } from "./harness.ts";

const plugin = (name: string, rest: Partial<Plugin> = {}): Plugin => ({
  name,
  version: "1.0.0",
  type: "command",
  enabled: true,
  author: "Ada",
  description: `What ${name} does`,
  permissions: [],
  needs_confirmation: false,
  path: `/etc/steward/plugins/${name}`,
  fault: null,
  ...rest,
});

interface Answer {
  readonly status: number;
  readonly body: object;
}
const refused = (status: number, code: string, message: string): Answer => ({
  status,
  body: { error: { code, message } },
});
const fine = (body: object): Answer => ({ status: 200, body });

/** What the service was asked, and what it answers: by method and path. */
let asked: { call: string; key: string | undefined; body: unknown }[];
let answers: Record<string, Answer>;
let redirects: boolean;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const call = `${request.method} ${request.url?.replace("/api/v1", "")}`;
    const text = Buffer.concat(chunks).toString();
    const key = request.headers["x-api-key"];
    asked.push({ call, key: key?.toString(), body: text === "" ? undefined : JSON.parse(text) });
    const { status, body } = answers[call] ?? refused(404, "NOT_FOUND", "not found");
    const headers = { "content-type": "application/json", ...(redirects && { location: "/elsewhere" }) };
    response.writeHead(status, headers).end(JSON.stringify(body));
  });
});
let url: string;
let directory: string;
let keyFile: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  directory = mkdtempSync(join(tmpdir(), "steward-cli-plugins-"));
  keyFile = join(directory, "other.key");
  writeFileSync(keyFile, "other");
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(directory, { recursive: true });
});
beforeEach(() => {
  asked = [];
  redirects = false;
  answers = { "GET /plugins": fine({ plugins: [plugin("certs"), plugin("raid", { type: "check" })] }) };
});

interface Surroundings {
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: () => Promise<string | undefined>;
  /** What a person types when asked; undefined: nobody is there. */
  readonly answer?: string;
}

const notHere = () => Promise.reject(new Error("not here"));
const steward = (argv: readonly string[], { environment = {}, input = notHere, answer }: Surroundings = {}) =>
  runInProcess(argv, {
    environment: { STEWARD_URL: url, STEWARD_API_KEY: "key", ...environment },
    ...(answer !== undefined && { answers: [answer] }),
    now: () => 0,
    local: { readInput: input },
  });

const run = (rest: object = {}): Answer =>
  fine({ exit_code: 0, stdout: "", stderr: "", duration_ms: 5, truncated: false, ...rest });
const nothing = () => Promise.resolve(undefined);

describe("steward plugins list", () => {
  it.each([[["plugins"]], [["plugins", "list"]]])("prints plugins with %j", async (argv) => {
    const answer = { plugins: [plugin("certs", { permissions: ["runs as root", "reads /srv"] }), plugin("raid")] };
    answers["GET /plugins"] = fine(answer);
    const { code, out, err } = await steward(argv);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/certs\s+1\.0\.0\s+command\s+enabled\s+runs as root, reads \/srv\s+What certs does/);
    expect(out).toMatch(/raid\s+1\.0\.0\s+command\s+enabled\s+none\s+/);
    const json = await steward([...argv, "--json"]);
    expect(JSON.parse(json.out)).toEqual(answer);
  });

  it("ends with 1 when an enabled plugin does not run, and prints why", async () => {
    const fault = "check.sh changed since it was enabled";
    answers["GET /plugins"] = fine({ plugins: [plugin("certs", { fault })] });
    const { code, out } = await steward(["plugins"]);
    expect({ code, line: out.split("\n").at(-2) }).toEqual({
      code: 1,
      line: `certs (/etc/steward/plugins/certs): ${fault}`,
    });
    expect((await steward(["plugins", "--json"])).code).toBe(1);
    answers["GET /plugins"] = fine({ plugins: [plugin("certs", { fault, enabled: false })] });
    expect((await steward(["plugins"])).code).toBe(0);
  });

  it("ends with 2 when the service refuses, or the subcommand is unknown", async () => {
    answers = { "GET /plugins": refused(403, "FORBIDDEN", "no right") };
    expect(await steward(["plugins"])).toEqual({ code: 2, out: "", err: "steward: no right (FORBIDDEN)\n" });
    asked = [];
    expect(await steward(["plugins", "enabel", "certs"])).toMatchObject(
      refusal("steward: unknown command 'enabel' of plugins"),
    );
    expect(asked).toEqual([]);
  });
});

describe("steward plugins enable and disable", () => {
  const changed = (rest: object): Answer => fine({ ...plugin("certs"), success: true, message: "enabled", ...rest });

  it("enables, and prints the permissions of the plugin", async () => {
    answers["POST /plugins/certs/enable?dry_run=false"] = changed({ permissions: ["runs as root"] });
    expect(await steward(["plugins", "enable", "certs", "--confirm", "--yes"])).toEqual(
      printed("certs: enabled\npermissions beyond its sandbox: runs as root\n"),
    );
    expect(asked).toMatchObject([{ body: { confirm: true } }]);
    await steward(["plugins", "enable", "certs", "-y"]);
    expect(asked[1]).toMatchObject({ body: { confirm: false } });
    const json = await steward(["plugins", "enable", "certs", "--json", "--yes"]);
    expect(JSON.parse(json.out)).toMatchObject({ name: "certs", success: true });
  });

  it("ends with 1 when the plugin cannot be enabled, and with 2 when it needs a confirmation", async () => {
    answers["POST /plugins/certs/enable?dry_run=false"] = changed({
      success: false,
      message: "cannot be loaded",
      fault: "writable by others: chmod go-w check.sh",
      permissions: ["runs as root"],
    });
    const failed = { code: 1, out: "certs: cannot be loaded\nwritable by others: chmod go-w check.sh\n", err: "" };
    expect(await steward(["plugins", "enable", "certs", "--yes"])).toEqual(failed);
    expect((await steward(["plugins", "enable", "certs", "--json", "--yes"])).code).toBe(1);
    answers["POST /plugins/certs/enable?dry_run=false"] = refused(400, "VALIDATION_ERROR", "it runs as root: confirm");
    expect(await steward(["plugins", "enable", "certs", "--yes"])).toMatchObject({
      code: 2,
      out: "",
      err: "steward: it runs as root: confirm (VALIDATION_ERROR)\n",
    });
    expect((await steward(["plugins", "enable"])).code).toBe(2);
  });

  const plan = { dry_run: true, units: [], packages: [], bytes: 0, requires_reboot: false };

  it("shows the plan and asks, since a plugin is foreign code", async () => {
    answers["POST /plugins/certs/enable?dry_run=true"] = fine({ ...plan, steps: ["enable certs 1.0.0"] });
    answers["POST /plugins/certs/enable?dry_run=false"] = changed({});
    const question = "  1. enable certs 1.0.0\nEnable the plugin certs? [y/N] ";
    expect(await steward(["plugins", "enable", "certs"])).toEqual({
      code: 2,
      out: "  1. enable certs 1.0.0\n",
      err: "steward: cannot ask whether to continue: there is nobody at a terminal (--yes does it without asking)\n",
    });
    expect(await steward(["plugins", "enable", "certs"], { answer: "n" })).toEqual({
      code: 1,
      out: "",
      err: `${question}steward: nothing was done\n`,
    });
    expect(asked.map(({ call }) => call)).toEqual(Array(2).fill("POST /plugins/certs/enable?dry_run=true"));
    expect(await steward(["plugins", "enable", "certs", "--confirm"], { answer: "y" })).toEqual({
      code: 0,
      out: "certs: enabled\n",
      err: question,
    });
    expect(asked.slice(2)).toMatchObject([
      { call: "POST /plugins/certs/enable?dry_run=true", body: { confirm: true } },
      { call: "POST /plugins/certs/enable?dry_run=false", body: { confirm: true } },
    ]);
    const json = await steward(["plugins", "enable", "certs", "--json"], { answer: "y" });
    expect([JSON.parse(json.out), json.err]).toEqual([expect.objectContaining({ success: true }), question]);
  });

  it("asks nothing where there is nothing to do", async () => {
    answers["POST /plugins/certs/enable?dry_run=true"] = fine({ ...plan, steps: [], reason: "enabled already" });
    answers["POST /plugins/certs/enable?dry_run=false"] = changed({ message: "enabled already" });
    expect(await steward(["plugins", "enable", "certs"])).toEqual(printed("certs: enabled already\n"));
  });

  it("disables a plugin", async () => {
    answers["POST /plugins/certs/disable?dry_run=false"] = changed({ enabled: false, message: "disabled" });
    expect(await steward(["plugins", "disable", "certs"])).toEqual({ code: 0, out: "certs: disabled\n", err: "" });
    expect(await steward(["plugins", "disable", "nobody"])).toMatchObject({ code: 2, out: "" });
  });

  it("prints the plan with --dry-run", async () => {
    const whole = { ...plan, steps: ["run certs"] };
    for (const verb of ["enable", "disable"]) {
      answers[`POST /plugins/certs/${verb}?dry_run=true`] = fine(whole);
      expect(await steward(["plugins", verb, "certs", "--dry-run"])).toEqual(printed("  1. run certs\n"));
      const { code, out } = await steward(["plugins", verb, "certs", "--dry-run", "--json"]);
      expect({ code, plan: JSON.parse(out) }).toEqual({ code: 0, plan: whole });
    }
  });
});

describe("steward <plugin>", () => {
  it("runs it with all arguments after its name, and exits with its code", async () => {
    answers["POST /plugins/certs/run"] = run({ exit_code: 7, stdout: "one\ntwo", stderr: "three\n" });
    const args = ["--json", "--help", "--url", "x", "--key-file=y", "-V", "check", "--nagios", "--", "", "a b"];
    const ended = await steward(["--key-file", keyFile, `--url=${url}`, "certs", ...args], { input: nothing });
    expect(ended).toEqual({ code: 7, out: "one\ntwo", err: "three\n" });
    expect(asked).toEqual([
      { call: "GET /plugins", key: "other", body: undefined },
      { call: "POST /plugins/certs/run", key: "other", body: { args } },
    ]);
  });

  it("passes on standard input", async () => {
    answers["POST /plugins/certs/run"] = run();
    await steward(["certs"], { input: () => Promise.resolve("line\n") });
    await steward(["certs"], { input: () => Promise.resolve("") });
    const bodies = asked.filter(({ call }) => call.startsWith("POST")).map(({ body }) => body);
    expect(bodies).toEqual([{ args: [], stdin: "line\n" }, { args: [] }]);
    const input = () => Promise.reject(new Error("cannot hand standard input on: it is too long"));
    expect(await steward(["certs"], { input })).toEqual(
      complaint("steward: cannot hand standard input on: it is too long\n"),
    );
  });

  it("says that output was dropped", async () => {
    answers["POST /plugins/certs/run"] = run({ stdout: "x", truncated: true });
    expect(await steward(["certs"], { input: nothing })).toEqual({
      code: 0,
      out: "x",
      err: "steward: certs printed more than it may, the rest was dropped\n",
    });
  });

  it("needs no scope to list plugins", async () => {
    answers = {
      "GET /plugins": refused(403, "FORBIDDEN", "no right"),
      "POST /plugins/certs/run": run({ stdout: "x" }),
    };
    expect(await steward(["certs"], { input: nothing })).toEqual({ code: 0, out: "x", err: "" });
    expect(await steward(["cert"], { input: nothing })).toMatchObject(refusal("steward: unknown command 'cert'"));
  });

  it.each([
    [plugin("certs", { enabled: false }), "the plugin certs is not enabled: steward plugins enable certs"],
    [plugin("certs", { type: "check" }), "certs is a check: steward check certs"],
    [plugin("certs", { type: "hook" }), "certs is a hook: the service calls it by itself"],
  ])("is not run when it is %j", async (found, reason) => {
    answers["GET /plugins"] = fine({ plugins: [found] });
    expect(await steward(["certs"])).toEqual({ code: 2, out: "", err: `steward: ${reason}\n` });
    expect(asked).toHaveLength(1);
  });

  it("prints why the service did not run it", async () => {
    answers["POST /plugins/certs/run"] = refused(503, "UNAVAILABLE", "certs took longer than 10 s");
    expect(await steward(["certs"], { input: nothing })).toEqual(
      complaint("steward: certs took longer than 10 s (UNAVAILABLE)\n"),
    );
  });

  it.each([["cert", "certs"]])(
    "that is unknown, such as %s, is answered with the nearest name: %s",
    async (name, nearest) => {
      expect(await steward([name, "--json"])).toMatchObject({
        code: 2,
        out: "",
        err: `steward: unknown command '${name}' (Did you mean ${nearest}?) (--help says more)\n`,
      });
    },
  );

  it("is looked up among commands when the service cannot be asked", async () => {
    answers = { "GET /plugins": refused(401, "UNAUTHORIZED", "wrong key") };
    expect(await steward(["kesy"])).toEqual(
      complaint(
        "steward: cannot ask for a plugin kesy: wrong key (UNAUTHORIZED)\nsteward: unknown command 'kesy' (Did you mean keys?) (--help says more)\n",
      ),
    );
  });

  it("reports a service that is not there, or redirects elsewhere", async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
    const address = gone.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await new Promise((resolve) => gone.close(resolve));
    const environment = { STEWARD_URL: `http://127.0.0.1:${port}` };
    expect(await steward(["certs"], { environment })).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(
        /cannot ask for a plugin certs: cannot reach the service: .*ECONNREFUSED.*is it running/,
      ),
    });
    answers["GET /plugins"] = { status: 307, body: {} };
    redirects = true;
    expect(await steward(["certs"])).toMatchObject({ code: 2, err: expect.stringContaining("redirect") });
    // Its key is not shown to where it was sent.
    expect(asked).toHaveLength(1);
  });

  it("is listed, enabled, run and disabled on a service", async () => {
    const plugins = createTestPlugins();
    plugins.directories.put("upper", { description: "Makes letters big" });
    plugins.sandbox.behave("upper", ({ args, stdin = "" }) => {
      return { exitCode: args.length, stdout: stdin.toUpperCase(), stderr: args.join(" "), isTruncated: false };
    });
    const service = await startTestService({ plugins });
    const environment = {
      STEWARD_URL: await service.app.listen({ host: "127.0.0.1", port: 0 }),
      STEWARD_API_KEY: service.admin,
    };
    const input = () => Promise.resolve("text");
    expect(await steward(["upper"], { environment })).toMatchObject(refusal("not enabled"));
    expect(await steward(["plugins", "enable", "upper", "--yes"], { environment })).toMatchObject({ code: 0 });
    expect((await steward(["plugins"], { environment })).out).toMatch(/upper\s+1\.0\.0\s+command\s+enabled/);
    const ended = await steward(["upper", "--json", "-x"], { environment, input });
    expect(ended).toEqual({ code: 2, out: "TEXT", err: "--json -x" });
    expect(await steward(["plugins", "disable", "upper"], { environment })).toMatchObject({ code: 0 });
    expect(await steward(["plugins", "enable", "nobody"], { environment })).toMatchObject({ code: 2, out: "" });
    await service.app.close();
  });

  it("never replaces a command of the program", async () => {
    answers["GET /plugins"] = fine({ plugins: [plugin("help"), plugin("config")] });
    expect((await steward(["help"])).out).toContain("steward <plugin>");
    for (const argv of [["config"], ["--colour", "certs"], ["../x"], ["Certs"], [""], ["--url"], ["--url", url], []]) {
      expect([argv, await steward(argv)]).toMatchObject([argv, { code: 2 }]);
    }
    expect((await steward(["--version", "certs"])).out).toBe("1.2.3\n");
    expect(asked).toEqual([]);
  });
});
