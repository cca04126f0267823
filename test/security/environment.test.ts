import { chmodSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { RunningService } from "../process/support/service.ts";
import { makeDirectory, startService } from "../process/support/service.ts";
import { until } from "../process/support/until.ts";
import { createWorkspace } from "../process/support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

/** A directory with a program of its own under every name that this machine has one for; each writes down that it was run. */
function makeFakePrograms(ran: string): string {
  const directory = makeDirectory(workspace, "programs", 0o755);
  const fake = workspace.path("programs", "fake-program");
  writeFileSync(fake, `#!/bin/sh\necho "$0 $*" >> ${ran}\n`, { mode: 0o755 });
  const names = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].flatMap((each) => readdirSync(each));
  for (const name of new Set(names)) symlinkSync(fake, workspace.path("programs", name));
  return directory;
}

/** Lets the service start all the programs that it has a use for without being asked to change anything. */
async function useEverything(service: RunningService): Promise<void> {
  const client = createClient({ url: service.url, key: service.adminKey });
  const { results } = await client.listChecks();
  for (const { check_id } of results) await client.getCheck({ params: { check_id } });
  await client.checkUpdates().catch(() => undefined);
  await client.listSnapshots();
  await client.listServices();
  await client.listLogs({ query: { limit: 10 } });
  expect(await client.enablePlugin({ params: { name: "environment" }, body: {} })).toMatchObject({ fault: null });
  const { stdout } = await client.runPlugin({ params: { name: "environment" }, body: {} });
  expect(stdout).toContain("STEWARD_PLUGIN=environment");
  expect(stdout).not.toMatch(/LD_DEBUG|NODE_|STEWARD_(STATE|CONFIG|LISTEN)|programs/);
}

function makePlugin(): string {
  // Plugins run as nobody, who must be able to get there.
  chmodSync(workspace.path(), 0o755);
  const directory = makeDirectory(workspace, "plugins", 0o755);
  makeDirectory(workspace, "plugins/environment", 0o755);
  const file = (name: string) => workspace.path("plugins", "environment", name);
  writeFileSync(file("plugin.yaml"), 'name: environment\ntype: command\nversion: "1.0"\nexec: run\n', { mode: 0o644 });
  writeFileSync(file("run"), "#!/bin/sh\nexec env\n", { mode: 0o755 });
  return directory;
}

describe("the environment of anyone who starts the service", () => {
  it("names no program that the service runs, and reaches no process that it starts [path-of-the-caller]", async () => {
    const ran = workspace.path("ran");
    const reported = workspace.path("told");
    const programs = makeFakePrograms(ran);
    writeFileSync(workspace.path("monitoring"), `#!/bin/sh\n/usr/bin/env > ${reported}\necho OK\n`, { mode: 0o755 });
    const service = await startService(workspace, {
      settings: [
        "connectors: { discover: false }",
        `plugins: { dirs: [${makePlugin()}] }`,
        `health: { checks: { told: { command: [${workspace.path("monitoring")}] } } }`,
        "",
      ].join("\n"),
      environment: {
        PATH: `${programs}:/usr/sbin:/usr/bin:/sbin:/bin`,
        STEWARD_RATE_LIMITS: "off",
        // The loader of every process that is given these writes a file, whose name ends in the number of the process.
        LD_DEBUG: "statistics",
        LD_DEBUG_OUTPUT: workspace.path("loaded"),
        IFS: "x",
        ENV: workspace.path("monitoring"),
        BASH_ENV: workspace.path("monitoring"),
      },
    });
    await useEverything(service);
    const environment = await until("the plugin", () =>
      existsSync(reported) ? readFileSync(reported, "utf8") : undefined,
    );
    expect(environment.split("\n").sort()).toEqual(
      expect.arrayContaining(["HOME=/nonexistent", "LC_ALL=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]),
    );
    expect(environment).not.toMatch(/LD_DEBUG|NODE_|STEWARD_|BASH_ENV|programs/);

    const loaded = readdirSync(workspace.path()).filter((name) => name.startsWith("loaded."));
    expect(loaded).toEqual([`loaded.${service.pid}`]);
    expect(existsSync(ran) ? readFileSync(ran, "utf8") : "").toBe("");
  });
});
