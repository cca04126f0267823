import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { runSteward } from "../process/support/program.ts";
import { makeDirectory, type RunningService, startService, writeSettings } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hostileTexts } from "./support/hostile-texts.ts";

const trace = "stw-named";
const workspace = createWorkspace();
const sentinel = workspace.path("owned");
/** Names as bytes: two of them are not UTF-8. */
const names: readonly Buffer[] = [
  ...hostileTexts("x", trace).map(({ text }) => Buffer.from(text.replaceAll("/", "_"))),
  ...[
    "a\nb",
    "\u001b[2J\u001b]0;owned\u0007",
    "\r\n\r\n",
    "\u202egnp.exe",
    "\u0085",
    " ",
    "~",
    "'",
    '"',
    "*",
    "?",
    "[a",
  ].map((text) => Buffer.from(text)),
  Buffer.from([0x61, 0xff, 0xfe, 0x62]),
  Buffer.from([0xc0, 0xaf]),
];
let service: RunningService;
let settings: string;

/** Makes a directory of each name, with files that would do for a plugin and for a snapshot. */
function fill(directory: string): void {
  for (const name of names) {
    const path = Buffer.concat([Buffer.from(`${directory}/`), name]);
    mkdirSync(path, { recursive: true, mode: 0o755 });
    const file = (each: string) => Buffer.concat([path, Buffer.from(`/${each}`)]);
    writeFileSync(file("plugin.yaml"), 'name: harmless\ntype: command\nversion: "1"\nexec: run\n', { mode: 0o644 });
    writeFileSync(file("run"), `#!/bin/sh\n/usr/bin/touch ${sentinel}\n`, { mode: 0o755 });
    writeFileSync(file("manifest.json"), "{}");
    writeFileSync(Buffer.concat([path, Buffer.from("/"), name]), "inside", { mode: 0o644 });
  }
}

beforeAll(async () => {
  const stateDir = makeDirectory(workspace, "state");
  fill(makeDirectory(workspace, "plugins", 0o755));
  for (const each of ["snapshots", "operations"]) fill(makeDirectory(workspace, `state/${each}`));
  settings = `updates: { enabled: false }\nconnectors: { discover: false }\nplugins: { dirs: [${workspace.path("plugins")}] }\n`;
  service = await startService(workspace, {
    checks: true,
    stateDir,
    settings,
    environment: { STEWARD_RATE_LIMITS: "off" },
  });
});
afterAll(workspace.dispose);

describe("hostile file names", () => {
  it("in the directory of plugins are text with a fault, and are never run [hostile-file-names]", async () => {
    const client = createClient({ url: service.url, key: service.adminKey });
    const { plugins } = await client.listPlugins();
    expect(plugins.length).toBeGreaterThan(30);
    const tryOne = async (name: string): Promise<void> => {
      const change = await client.enablePlugin({ params: { name }, body: { confirm: true } }).catch(() => undefined);
      expect(change?.success ?? false).toBe(false);
      await client.runPlugin({ params: { name }, body: {} }).catch(() => undefined);
    };
    for (const { name, path, fault, description, author } of plugins) {
      expect([name, fault]).toEqual([name, expect.any(String)]);
      expect(name + path + String(fault) + description + author).not.toMatch(/\p{Cc}|\p{Cf}|\p{Cs}/u);
    }
    await Promise.all(plugins.map(({ name }) => tryOne(name)));
  });

  it("in the directories of snapshots and operations are neither listed nor reached [hostile-file-names]", async () => {
    const client = createClient({ url: service.url, key: service.adminKey });
    expect((await client.listOperations()).operations).toEqual([]);
    expect((await client.listSnapshots()).snapshots).toEqual([]);
    const before = readdirSync(join(service.stateDir, "snapshots"), { encoding: "buffer" }).length;
    for (const name of names) {
      const escaped = [...name].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
      for (const [method, path] of [
        ["DELETE", `/updates/snapshots/${escaped}`],
        ["GET", `/updates/snapshots/${escaped}/diff`],
        ["POST", `/updates/rollback/${escaped}`],
        ["GET", `/operations/${escaped}`],
      ] as const) {
        const headers = { "X-API-Key": service.adminKey };
        const { status } = await fetch(`${service.url}/api/v1${path}`, { method, headers });
        // Where packages are left alone, a snapshot is UNAVAILABLE before anybody looks for it.
        expect([method, path, [400, 404, 503].includes(status)]).toEqual([method, path, true]);
      }
    }
    expect(readdirSync(join(service.stateDir, "snapshots"), { encoding: "buffer" }).length).toBe(before);
  });

  it("change nothing of the terminal that lists them [hostile-file-names] [terminal-escapes]", async () => {
    const listed = await runSteward(workspace, ["plugins"], {
      STEWARD_CONFIG: writeSettings(workspace, settings),
      STEWARD_LISTEN: new URL(service.url).host,
      STEWARD_STATE_DIR: service.stateDir,
    });
    expect(listed.stdout.length).toBeGreaterThan(1_000);
    expect((listed.stdout + listed.stderr).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it("have run nothing", () => {
    expect(existsSync(sentinel)).toBe(false);
    for (const directory of ["/", "/tmp", workspace.path(), service.stateDir])
      expect(existsSync(join(directory, trace))).toBe(false);
    expect(service.lines().length).toBeGreaterThan(50);
    expect(service.stderr()).not.toMatch(/Warning|Error/);
  });
});
