import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { runSteward } from "./support/program.ts";
import { startService, writeSettings } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

/** The whole settings file as the documentation shows it. */
const example = `listen: 127.0.0.1:8470
tls: off                     # off | auto | { cert: FILE, key: FILE }
state_dir: /var/lib/steward
log: { level: info }
rate_limits: { per_minute: 100, per_hour: 1000 }        # or off
metrics: { public: loopback }                           # loopback | always | never
journal: { dir: /var/log/journal }
health:
  interval: 60s
  checks: { disk_space: { warn: 80, fail: 95, interval: 5m, ignore: [/mnt/cold] }, firewall: { enabled: false } }
connectors:
  default: local
  list:
    - { name: local, provider: ollama, model: llama3.2, base_url: "http://127.0.0.1:11434" }
    - { name: claude, provider: anthropic, model: claude-sonnet-4-5, api_key_env: ANTHROPIC_API_KEY }   # or api_key_file, api_key_credential
plugins: { dirs: [/etc/steward/plugins, /usr/lib/steward/plugins] }
updates: { snapshot: true, keep_snapshots: 10, guard_minutes: 5 }
tracing: { endpoint: "http://127.0.0.1:4318", protocol: http, receiver: auto }     # protocol: http | grpc; receiver: auto | on | off
notifications:
  chat: { webhook_url_file: /etc/steward/chat-webhook }
  email: { smtp: "smtp://127.0.0.1:25", from: steward@example.org, to: [ops@example.org] }
`;

const faulty = `log:
  level: loud
rate_limits: { per_minute: 0, per_day: 5 }
colour: blue
health:
  checks:
    disk_space: { warn: "eighty" }
connectors:
  list:
    - { name: a, provider: nobody, model: m }
`;

/** Place and path of each fault of {@link faulty}. */
const places = [
  "2:10: log.level",
  "3:28: rate_limits.per_minute",
  "3:31: rate_limits.per_day",
  "4:1: colour",
  "7:25: health.checks.disk_space.warn",
  "10:28: connectors.list.0.provider",
];

/** Exit code that the unit does not start again from. */
const faultOfSettings = 78;

const check = (file: string, ...more: readonly string[]) =>
  runSteward(workspace, ["config", "check", "--config", file, ...more]);

describe("steward config check", () => {
  it("prints every fault with its place and its path, and ends with 1", async () => {
    const file = writeSettings(workspace, faulty);
    const { code, stdout, stderr } = await check(file);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(places.length);
    for (const [at, place] of places.entries()) expect(lines[at]).toMatch(new RegExp(`^${file}:${place}: \\S`));
    expect(lines[3]).toContain("unknown");
  });

  it("prints the same as JSON", async () => {
    const { code, stdout } = await check(writeSettings(workspace, faulty), "--json");
    const report = JSON.parse(stdout) as { faults: { line: number; column: number; path: string }[] };
    expect(code).toBe(1);
    expect(report.faults.map(({ line, column, path }) => `${line}:${column}: ${path}`)).toEqual(places);
  });

  it.each([
    ["a malformed address", "log: { level: info }\nlisten: nowhere\n", "2:9: listen"],
    ["an address beyond loopback without a word about TLS", "listen: 0.0.0.0:1\n", "1:"],
    ["broken YAML", "log: { level: info\nlisten: x\n", "2:"],
    ["a key twice", "listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n", "2:1"],
    ["a list for the whole", "- listen\n", "1:1"],
    [
      "a plugin with the id of a check",
      "health: { checks: { apt_status: { command: [/bin/true] } } }\n",
      "1:44: health",
    ],
  ])("names the place of %s", async (_, text, place) => {
    const file = writeSettings(workspace, text);
    const { code, stdout } = await check(file);
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining(`${file}:${place}`) });
  });

  it("finds what is wrong in the environment as well as what is wrong in the file", async () => {
    const argv = ["config", "check", "--config", writeSettings(workspace, faulty)];
    const { code, stdout } = await runSteward(workspace, argv, { STEWARD_LOG_LEVEL: "shout" });
    expect(code).toBe(1);
    expect(stdout).toContain("STEWARD_LOG_LEVEL");
    expect(stdout).toContain("colour");
  });

  it("finds no fault in the whole example", async () => {
    const file = writeSettings(workspace, example);
    const { code, stdout } = await check(file);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`${file}: no fault\n`) });
    const asJson = await check(file, "--json");
    expect(asJson.code).toBe(0);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ file, faults: [] });
  });

  it("finds no fault in an empty file, and one in a missing file", async () => {
    expect((await check(writeSettings(workspace, "# nothing\n"))).code).toBe(0);
    const missing = workspace.path("missing.yaml");
    const { code, stdout } = await check(missing);
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining(`${missing}: cannot read it`) });
  });

  it("says where an alias is, which is not permitted", async () => {
    const file = writeSettings(workspace, "listen: &a 127.0.0.1:1\nstate_dir: *a\n");
    const { code, stdout } = await check(file);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining(`${file}:2:12: aliases are not permitted (write the value out)`),
    });
  });

  it("waits for nothing in the place of the file", async () => {
    const pipe = workspace.path("pipe.yaml");
    execFileSync("mkfifo", [pipe]);
    const { code, stdout } = await check(pipe);
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining("it is a named pipe") });
  });

  it("the service itself refuses a faulty file with the same lines, and does nothing", async () => {
    const file = writeSettings(workspace, faulty);
    const stateDir = workspace.path("untouched");
    const { code, stderr } = await runSteward(workspace, ["serve", "--config", file], { STEWARD_STATE_DIR: stateDir });
    expect(code).toBe(faultOfSettings);
    for (const place of places) expect(stderr).toContain(`${file}:${place}`);
    expect(existsSync(stateDir)).toBe(false);
  });
});

describe("the environment", () => {
  const asked = async (environment: Readonly<Record<string, string>>): Promise<readonly number[]> => {
    const settings =
      "listen: 192.0.2.1:1\nstate_dir: /proc/nothing\nrate_limits: { per_minute: 2 }\nlog: { level: fatal }\n";
    const all = { STEWARD_LOG_LEVEL: "info", ...environment };
    const service = await startService(workspace, { settings, environment: all });
    const statuses: number[] = [];
    for (let count = 0; count < 4; count += 1) {
      const headers = { "X-API-Key": service.adminKey };
      statuses.push((await fetch(`${service.url}/api/v1/auth/whoami`, { headers })).status);
    }
    return statuses;
  };

  it("stands above the file, each variable for itself", async () => {
    expect(await asked({})).toEqual([200, 200, 429, 429]);
    expect(await asked({ STEWARD_RATE_LIMITS: "off" })).toEqual([200, 200, 200, 200]);
  });

  it("is refused where it is wrong", async () => {
    const { code, stderr } = await runSteward(workspace, ["serve"], {
      STEWARD_CONFIG: writeSettings(workspace, ""),
      STEWARD_STATE_DIR: workspace.path("untouched"),
      STEWARD_LISTEN: "nowhere",
    });
    expect(code).toBe(faultOfSettings);
    expect(stderr).toContain("STEWARD_LISTEN");
  });
});
