import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, watch, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { filesBelow, read } from "../invariants/project.ts";
import { makeDirectory, startService } from "../process/support/service.ts";
import { until } from "../process/support/until.ts";
import { createWorkspace } from "../process/support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const sources = filesBelow("src").filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"));

describe("predictable temporary files", () => {
  it("are in no source: what is made in a shared directory gets a directory of a name that nobody knows [temporary-files]", () => {
    const users = sources.filter((path) => /\btmpdir\(/.test(read(path)));
    expect(users.length).toBeGreaterThan(0);
    for (const path of users) {
      const uses = read(path).match(/\btmpdir\(\)/g)?.length;
      const made = read(path).match(/mkdtemp\(join\(tmpdir\(\), "[a-z-]+-"\)\)/g)?.length;
      expect([path, made]).toEqual([path, uses]);
    }
    // Written out, a path there is one of the rules for what may be removed, or of what plugins may not have.
    const named = sources.filter((path) => /["'`]\/(var\/)?tmp\b/.test(read(path)));
    const allowed = /^src\/(adapters\/(cleanup|plugins)\/|adapters\/packages\/\w+\/)/;
    expect(named.filter((path) => !allowed.test(path))).toEqual([]);
  });

  it("are not reached by links in the shared directory, and nothing is left there [temporary-files]", async () => {
    const shared = makeDirectory(workspace, "shared", 0o1777);
    const victim = workspace.path("victim");
    writeFileSync(victim, "mine");
    for (const name of [
      "steward",
      "steward-plugin",
      "steward-plugin-",
      "steward-apt-",
      "steward.sock",
      "node-compile-cache",
    ])
      symlinkSync(victim, `${shared}/${name}`);
    const before = readdirSync(shared).sort();
    const made = new Map<string, number>();
    const watcher = watch(shared, (_, name) => {
      const mode = name === null ? undefined : statSync(`${shared}/${name}`, { throwIfNoEntry: false })?.mode;
      if (name !== null && mode !== undefined) made.set(name, mode & 0o777);
    });

    chmodSync(workspace.path(), 0o755);
    const plugin = workspace.path("plugins", "slow");
    const goOn = workspace.path("go-on");
    mkdirSync(plugin, { recursive: true, mode: 0o755 });
    writeFileSync(`${plugin}/plugin.yaml`, 'name: slow\ntype: command\nversion: "1"\nexec: run\n', { mode: 0o644 });
    writeFileSync(`${plugin}/run`, `#!/bin/sh\nuntil test -e "${goOn}"; do sleep 0.1; done\npwd\n`, { mode: 0o755 });
    const service = await startService(workspace, {
      checks: true,
      settings: `updates: { enabled: false }\nconnectors: { discover: false }\nplugins: { dirs: [${workspace.path("plugins")}] }\n`,
      environment: { TMPDIR: shared, STEWARD_RATE_LIMITS: "off" },
    });
    const client = createClient({ url: service.url, key: service.adminKey });
    await client.listChecks();
    await client.enablePlugin({ params: { name: "slow" }, body: {} });
    const ran = client.runPlugin({ params: { name: "slow" }, body: {} });
    await until(
      "its directory",
      () => [...made.keys()].some((each) => each.startsWith("steward-plugin-")) || undefined,
    );
    writeFileSync(goOn, "");
    const { stdout } = await ran;
    service.kill("SIGTERM");
    await service.exit;
    watcher.close();

    const name = stdout.trim().split("/").at(-1) ?? "";
    expect(name).toMatch(/^steward-plugin-[A-Za-z0-9]{6}$/);
    expect(made.get(name)).toBe(0o700);
    for (const each of made.keys()) expect(each).toMatch(/^steward-[a-z]+-[A-Za-z0-9]{6}$/);
    expect(readdirSync(shared).sort()).toEqual(before);
    expect(statSync(victim).size).toBe("mine".length);
  });
});
