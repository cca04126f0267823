import { chmodSync, chownSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runSteward } from "./support/program.ts";
import { type LaunchOptions, launchService, makeDirectory, startService, writeSettings } from "./support/service.ts";
import { takenPort } from "./support/taken-port.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
let taken: Awaited<ReturnType<typeof takenPort>>;
beforeAll(async () => {
  taken = await takenPort();
});
afterAll(async () => {
  taken.release();
  await workspace.dispose();
});

const isRoot = process.getuid?.() === 0;
/** `nobody`: a user without rights, for what root may always do. */
const nobody = 65_534;
/** Exit code that the unit does not start again from. */
const faultOfSettings = 78;

const faulty = 'log:\n  level: loud\ncolour: blue\nhealth: { checks: { disk_space: { warn: "eighty" } } }\n';
/** Place and path of each fault of {@link faulty}. */
const places = ["2:10: log.level", "3:1: colour", "4:41: health.checks.disk_space.warn"];

const on = (listen: string, settings?: string): LaunchOptions => ({
  environment: { STEWARD_LISTEN: listen },
  ...(settings !== undefined && { settings }),
});
/** A state directory in which a name leads elsewhere. */
function ledAstray(name: string): LaunchOptions {
  const stateDir = makeDirectory(workspace, `led-astray-${name}`);
  writeFileSync(workspace.path(`elsewhere-${name}`), "");
  symlinkSync(workspace.path(`elsewhere-${name}`), join(stateDir, name));
  return { stateDir };
}

const refusals: readonly [string, () => LaunchOptions, code: number, messages: readonly string[]][] = [
  [
    "an address that is taken",
    () => on(`127.0.0.1:${taken.port}`),
    2,
    ["cannot listen on 127.0.0.1:", " listens there (ss -ltnp"],
  ],
  ["an address that no interface has", () => on("192.0.2.1:0", "tls: off\n"), 2, ["cannot listen on 192.0.2.1:0"]],
  [
    "an address beyond loopback where nothing is said about TLS",
    () => on("0.0.0.0:0"),
    faultOfSettings,
    ["without TLS", "auto", "cert", "off"],
  ],
  ["faulty settings", () => ({ settings: faulty }), faultOfSettings, places],
  ["a faulty variable", () => on("nowhere"), faultOfSettings, ["STEWARD_LISTEN"]],
  ["a state directory that cannot be made", () => ({ stateDir: "/proc/steward" }), 2, ["/proc/steward"]],
  [
    "a state directory of another user",
    () => {
      const stateDir = isRoot ? makeDirectory(workspace, "theirs") : "/usr";
      if (isRoot) chownSync(stateDir, nobody, nobody);
      return { stateDir };
    },
    2,
    ["belongs to another user"],
  ],
  [
    "a state directory that cannot be written",
    () => {
      const stateDir = makeDirectory(workspace, "read-only", 0o500);
      if (isRoot) chownSync(stateDir, nobody, nobody);
      return { stateDir, ...(isRoot && { uid: nobody }) };
    },
    2,
    ["read-only"],
  ],
  [
    "a corrupt key store",
    () => {
      const stateDir = makeDirectory(workspace, "broken");
      writeFileSync(join(stateDir, "keys.db"), "not a database".repeat(100), { mode: 0o600 });
      return { stateDir };
    },
    faultOfSettings,
    ["cannot open the key store"],
  ],
  ["a key store that is a link", () => ledAstray("keys.db"), 2, ["keys.db"]],
  ["an audit log that is a link", () => ledAstray("audit"), 2, ["audit"]],
];

describe("the start of the service", () => {
  it.each(refusals)("is refused with %s, by one message", async (_, prepare, code, messages) => {
    const service = launchService(workspace, prepare());
    await expect(service.exit).resolves.toEqual({ code, signal: null });
    expect(service.lines().map(({ msg }) => msg)).not.toContain("listening");
    expect(service.stderr()).not.toMatch(/\n\s+at /);
    if (messages !== places) expect(service.stderr()).toMatch(/^steward: cannot /);
    for (const message of messages) expect(service.stderr()).toContain(message);
    if (messages === places) expect(existsSync(service.stateDir)).toBe(false);
  });

  it("is refused with a state directory that another service uses, which continues", async () => {
    const first = await startService(workspace);
    const second = launchService(workspace, { stateDir: first.stateDir });
    await expect(second.exit).resolves.toEqual({ code: 2, signal: null });
    expect(second.stderr()).toContain("another Steward runs with this state directory");
    expect((await fetch(`${first.url}/livez`)).status).toBe(200);
  });

  it("makes a state directory private that others can read, and warns where it listens without TLS", async () => {
    const stateDir = workspace.path("open");
    mkdirSync(stateDir);
    chmodSync(stateDir, 0o777);
    const service = await startService(workspace, { ...on("0.0.0.0:0", "tls: off\n"), stateDir });
    expect(service.lines().filter(({ level }) => level === "warn")).not.toEqual([]);
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
    expect(statSync(stateDir).mode & 0o777).toBe(0o700);
    for (const name of ["keys.db", "audit/audit-000000000001.log", "admin.key"])
      expect({ name, mode: statSync(join(stateDir, name)).mode & 0o777 }).toEqual({ name, mode: 0o600 });
  });
});

describe("steward config check", () => {
  it("prints every fault with its place, TLS files and variables too, and ends with 1; with 0 where there is none", async () => {
    const check = (settings: string, environment: Readonly<Record<string, string>> = {}) => {
      const file = writeSettings(workspace, settings);
      return runSteward(workspace, ["config", "check", "--config", file, "--json"], environment);
    };
    const found = async (settings: string) => {
      const { code, stdout, stderr } = await check(settings);
      const { faults } = JSON.parse(stdout) as { faults: { line?: number; column?: number; path: string }[] };
      return [code, stderr, faults.map(({ line, column, path }) => `${line}:${column}: ${path}`)];
    };
    expect(await found(faulty)).toEqual([1, "", places]);
    expect(await check("log: { level: info }\n", { STEWARD_LOG_LEVEL: "shout" })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("STEWARD_LOG_LEVEL"),
    });
    expect(await found("tls: { cert: /nowhere, key: /nowhere }\n")).toEqual([1, "", ["1:6: tls"]]);
    expect(await found("log: { level: info }\n")).toEqual([0, "", []]);
  });
});
