import { chmodSync, chownSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { LaunchOptions } from "./support/service.ts";
import { launchService, makeFolder, startService } from "./support/service.ts";
import { takenPort } from "./support/taken-port.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const isRoot = process.getuid?.() === 0;
/** `nobody`: a user without rights, for what root may always do. */
const nobody = 65_534;

/** Exit code that the unit does not start again from. */
const faultOfSettings = 78;

/** Starts the service and asserts that it refuses: exit code 2 unless given, one message, no stack, nothing that listened. */
async function refusal(options: LaunchOptions, code = 2): Promise<string> {
  const service = launchService(workspace, options);
  await expect(service.exit).resolves.toEqual({ code, signal: null });
  expect(service.lines().map(({ msg }) => msg)).not.toContain("listening");
  expect(service.stderr()).not.toMatch(/\n\s+at /);
  expect(service.stderr()).toMatch(/^steward: cannot /);
  return service.stderr();
}

describe("an address that is taken", () => {
  it("is refused with its name", async () => {
    const { port, release } = await takenPort();
    const message = await refusal({ environment: { STEWARD_LISTEN: `127.0.0.1:${port}` } });
    expect(message).toContain(`cannot listen on 127.0.0.1:${port}`);
    expect(message).toContain("EADDRINUSE");
    release();
  });

  it("that no interface has is refused", async () => {
    const message = await refusal({ environment: { STEWARD_LISTEN: "192.0.2.1:0" }, settings: "tls: off\n" });
    expect(message).toContain("cannot listen on 192.0.2.1:0");
  });
});

describe("an address beyond loopback", () => {
  it.each(["0.0.0.0:0", "[::]:0", "192.0.2.1:0"])("%s is refused without a word about TLS", async (listen) => {
    const message = await refusal({ environment: { STEWARD_LISTEN: listen } }, faultOfSettings);
    expect(message).toContain("without TLS");
    for (const remedy of ["auto", "cert", "off"]) expect(message).toContain(remedy);
  });

  it("is served when TLS is off on purpose, with a warning", async () => {
    const service = await startService(workspace, {
      environment: { STEWARD_LISTEN: "0.0.0.0:0" },
      settings: "tls: off\n",
    });
    expect(service.lines().filter(({ level }) => level === "warn")).not.toEqual([]);
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
  });
});

describe("a state folder", () => {
  it("that is a file is refused", async () => {
    const stateDir = workspace.path("file");
    writeFileSync(stateDir, "mine");
    expect(await refusal({ stateDir })).toContain(stateDir);
  });

  it("below a file is refused", async () => {
    writeFileSync(workspace.path("parent"), "mine");
    expect(await refusal({ stateDir: workspace.path("parent", "state") })).toContain("parent");
  });

  it("that cannot be made is refused", async () => {
    expect(await refusal({ stateDir: "/proc/steward" })).toContain("/proc/steward");
  });

  it("that is a link is refused: somebody else may turn it round", async () => {
    const target = makeFolder(workspace, "target");
    symlinkSync(target, workspace.path("link"));
    expect(await refusal({ stateDir: workspace.path("link") })).toContain("not a folder");
  });

  it("of another user is refused", async () => {
    const stateDir = isRoot ? makeFolder(workspace, "theirs") : "/usr";
    if (isRoot) chownSync(stateDir, nobody, nobody);
    expect(await refusal({ stateDir })).toContain("belongs to another user");
  });

  it("that cannot be written is refused", async () => {
    const stateDir = makeFolder(workspace, "read-only", 0o500);
    if (isRoot) chownSync(stateDir, nobody, nobody);
    expect(await refusal({ stateDir, ...(isRoot && { uid: nobody }) })).toContain(stateDir);
    chmodSync(stateDir, 0o700);
  });

  it("that others can read is made private", async () => {
    const stateDir = makeFolder(workspace, "open", 0o777);
    const service = await startService(workspace, { stateDir });
    expect(statSync(stateDir).mode & 0o777).toBe(0o700);
    for (const name of ["keys.db", "audit/audit-000000000001.log", "admin.key"])
      expect({ name, mode: statSync(join(stateDir, name)).mode & 0o777 }).toEqual({ name, mode: 0o600 });
    service.kill("SIGTERM");
    await service.exit;
  });

  it("with an invalid key store is refused, and left as it is", async () => {
    const stateDir = makeFolder(workspace, "broken");
    writeFileSync(join(stateDir, "keys.db"), "not a database".repeat(100), { mode: 0o600 });
    expect(await refusal({ stateDir }, 78)).toContain("cannot open the key store");
  });

  it.each(["keys.db", "audit"])("whose %s leads elsewhere is refused", async (name) => {
    const stateDir = makeFolder(workspace, `led-astray-${name}`);
    writeFileSync(workspace.path(`elsewhere-${name}`), "");
    symlinkSync(workspace.path(`elsewhere-${name}`), join(stateDir, name));
    await refusal({ stateDir });
  });

  it("that another service uses is refused, and the other goes on", async () => {
    const first = await startService(workspace, { settings: "tls: auto\n" });
    const message = await refusal({ stateDir: first.stateDir });
    expect(message).toContain("another Steward runs with this state folder");
    expect(first.lines().map(({ msg }) => msg)).not.toContain("stopping");
    const other = await startService(workspace, { stateDir: workspace.path("other") });
    expect((await fetch(`${other.url}/livez`)).status).toBe(200);
  });
});
