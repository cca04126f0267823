import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readAdminKey } from "#app/admin-key.ts";
import { type CliSetting, complaint, printed, refusal, runInProcess } from "./cli-run.ts";
import { startTestService, type TestService } from "./harness.ts";

let service: TestService;
let url: string;
let directory: string;
/** An address where nothing listens. */
let deadUrl: string;
beforeAll(async () => {
  service = await startTestService();
  url = await service.app.listen({ host: "127.0.0.1", port: 0 });
  directory = mkdtempSync(join(tmpdir(), "steward-cli-"));
  const gone = await startTestService();
  deadUrl = await gone.app.listen({ host: "127.0.0.1", port: 0 });
  await gone.app.close();
  writeFileSync(join(directory, "admin.key"), `${service.admin}\n`);
});
afterAll(async () => {
  await service.app.close();
  rmSync(directory, { recursive: true });
});

const local = (): CliSetting["local"] => ({
  serve: () => Promise.reject(new Error("cannot listen on 127.0.0.1:1: in use")),
  checkConfig: (file) =>
    Promise.resolve({
      file,
      faults: file === "bad" ? [{ text: "bad:1:1: colour: unknown setting" }] : [],
      warnings: ["careful"],
    }),
  localService: () => Promise.resolve({ url, adminKeyFile: join(directory, "admin.key"), readAdminKey }),
});

const steward = (argv: readonly string[], environment: Record<string, string> = {}, commands = local()) =>
  runInProcess(argv, { environment, now: () => service.clock.now(), ...(commands && { local: commands }) });

describe("steward keys", () => {
  it("creates, lists and revokes keys", async () => {
    const made = await steward([
      "keys",
      "create",
      "laptop",
      "--scope",
      "viewer",
      "--scope",
      "services:restart:nginx.service",
      "--expires",
      "30d",
    ]);
    expect(made).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^stw_\w+\n$/),
      err: expect.stringContaining("not shown again"),
    });
    const id = made.out.slice(4, 12);
    const list = await steward(["keys", "list", "--json"]);
    expect(JSON.parse(list.out)).toMatchObject({
      keys: [
        { name: "test" },
        {
          id,
          name: "laptop",
          expires_at: "2026-01-31T00:00:00.000Z",
          scopes: expect.arrayContaining(["services:restart:nginx.service"]),
        },
      ],
    });
    expect((await steward(["keys", "list"])).out).toMatch(/laptop\s+good/);
    expect((await steward(["keys", "revoke", id, "--dry-run"])).out).toMatch(/^ {2}1\. /);
    expect(JSON.parse((await steward(["keys", "revoke", id, "--dry-run", "--json"])).out)).toMatchObject({
      dry_run: true,
    });
    expect(await steward(["keys", "revoke", id])).toMatchObject({
      code: 2,
      err: "steward: cannot ask whether to continue: there is nobody at a terminal (--yes does it without asking)\n",
    });
    expect(await steward(["keys", "revoke", id, "--yes"])).toEqual(printed(`${id} (laptop): key revoked\n`));
    expect((await steward(["keys", "list"])).out).toMatch(/laptop\s+revoked/);
  });

  it("prints JSON, and makes no key without scopes", async () => {
    const made = await steward(["keys", "create", "a", "--scope", "viewer", "--json"]);
    expect(JSON.parse(made.out)).toMatchObject({ name: "a", scopes: expect.arrayContaining(["logs:read"]) });
    expect(await steward(["keys", "create", "b"])).toMatchObject(
      refusal("without a scope: it would have no rights (--scope"),
    );
    expect((await steward(["keys", "list"])).out).not.toMatch(/ b +good/);
  });

  it("prints refusals of the service with exit code 2", async () => {
    const refused = await steward(["keys", "create", "x", "--scope", "root"]);
    expect(refused).toMatchObject(
      refusal(/unknown scope or role: root \(there are health:read, .*, viewer, operator, admin\)/),
    );
    expect((await steward(["keys", "revoke", "nobody", "--yes"])).err).toContain("no key has this id");
  });
});

describe("the service and the key of a command line", () => {
  it("are taken from options before environment before the local admin key", async () => {
    const keyFile = join(directory, "limited.key");
    writeFileSync(keyFile, service.key([]));
    expect((await steward(["keys", "list"])).code).toBe(0);
    expect((await steward(["keys", "list", "--key-file", keyFile])).err).toContain("FORBIDDEN");
    expect((await steward(["--key-file", keyFile, "keys", "list"])).err).toContain("FORBIDDEN");
    expect((await steward(["keys", "list"], { STEWARD_API_KEY: "wrong" })).err).toContain("UNAUTHORIZED");
    expect(
      (await steward(["keys", "list", "--key-file", join(directory, "admin.key")], { STEWARD_API_KEY: "wrong" })).code,
    ).toBe(0);
    const keyed = { STEWARD_API_KEY: service.admin };
    expect((await steward(["keys", "list"], { ...keyed, STEWARD_URL: deadUrl })).err).toMatch(
      /cannot reach the service: .*ECONNREFUSED.*is it running/,
    );
    expect((await steward(["--url", url, "keys", "list"], { STEWARD_URL: deadUrl })).code).toBe(0);
  });

  it("never send the local admin key to another service", async () => {
    for (const foreign of [deadUrl, "http://127.0.0.2:1", url.replace("http:", "https:")]) {
      expect(await steward(["--url", foreign, "keys", "list"])).toMatchObject(
        refusal("it is not the local service (use --key-file or STEWARD_API_KEY)"),
      );
    }
  });

  it("are reported as missing with what to do", async () => {
    const commands = {
      ...local(),
      localService: () => Promise.resolve({ url, adminKeyFile: "/nowhere/admin.key", readAdminKey }),
    };
    expect(await steward(["keys", "list"], {}, commands)).toMatchObject(refusal("use --key-file or STEWARD_API_KEY"));
    expect((await steward(["keys", "list", "--key-file", "/nowhere"])).err).toContain(
      "cannot read the key file /nowhere",
    );
  });
});

describe("steward itself", () => {
  it("prints help and version, and names an unknown command", async () => {
    expect((await steward(["--help"])).out).toContain("run the service");
    expect(await steward(["--version"])).toEqual({ code: 0, out: "1.2.3\n", err: "" });
    expect((await steward(["keys", "create", "--help"])).out).toContain("--expires");
    for (const argv of [["nonsense"], ["keys", "create"], ["keys", "list", "--colour"]]) {
      expect([argv, await steward(argv)]).toEqual([
        argv,
        { code: 2, out: "", err: expect.stringMatching(/^steward: [^\n]+ \(--help says more\)\n$/) },
      ]);
    }
  });

  it("reports why the service could not start", async () => {
    expect(await steward(["serve"])).toEqual(complaint("steward: cannot listen on 127.0.0.1:1: in use\n"));
  });

  it("checks settings: 0 without fault, 1 with one", async () => {
    expect(await steward(["config", "check"])).toEqual(printed("warning: careful\nbuilt-in defaults: no fault\n"));
    expect(await steward(["config", "check", "--config", "bad"])).toMatchObject({
      code: 1,
      out: expect.stringContaining("bad:1:1: colour"),
    });
    expect(JSON.parse((await steward(["config", "check", "--config", "bad", "--json"])).out)).toMatchObject({
      file: "bad",
      faults: [{}],
    });
  });
});
