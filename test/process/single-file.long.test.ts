import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildSingleFile, missingForPackages } from "../host/support/deb.ts";
import { runProgram } from "./support/program.ts";
import { type RunningService, startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const buildMs = 600_000;
const missing = missingForPackages();
if (missing !== undefined) process.stdout.write(`skipped: the single executable: ${missing}\n`);

describe.skipIf(missing !== undefined)("the single executable", () => {
  const workspace = createWorkspace();
  let program = "";
  let service: RunningService;
  const steward = (...argv: readonly string[]) =>
    runProgram(workspace, [program, ...argv], {
      environment: { STEWARD_STATE_DIR: service.stateDir, STEWARD_URL: service.url, STEWARD_API_KEY: service.adminKey },
    });
  const get = async (path: string): Promise<Response> =>
    fetch(`${service.url}/api/v1${path}`, { headers: { "X-API-Key": service.adminKey } });

  beforeAll(async () => {
    program = await buildSingleFile(workspace.path("dist"));
    service = await startService(workspace, { checks: true, program: [program] });
  }, buildMs);
  afterAll(workspace.dispose);

  it("prints its version, also where it starts itself for a task", async () => {
    expect(await steward("--version")).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: "",
    });
    // As it starts itself for a task: with the name of a main module.
    expect(await steward("/proc/self/exe/main.js", "--version")).toMatchObject({ code: 0 });
  });

  it("serves with the files and threads inside it", async () => {
    for (const path of [
      "/health",
      "/docs",
      "/docs/swagger-ui-bundle.js",
      "/openapi.json",
      "/system/logs?limit=1",
      "/traces?limit=1",
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 200]);
    }
    expect((await get("/docs/nonsense.js")).status).toBe(404);
  });

  it("is the command line, with the templates inside it", async () => {
    expect(await steward("keys", "list")).toMatchObject({ code: 0, stdout: expect.stringContaining("admin") });
    for (const language of ["sh", "python", "node"]) {
      const made = await steward(
        "plugins",
        "new",
        `made-${language}`,
        "--type",
        "check",
        "--lang",
        language,
        "--dir",
        workspace.path(),
      );
      expect(made).toMatchObject({ code: 0, stderr: "" });
    }
    expect((await runProgram(workspace, ["sh", workspace.path("made-sh/test.sh")])).code).toBe(0);
    expect(await steward("observability", "init", workspace.path("stack"))).toMatchObject({ code: 0, stderr: "" });
  });
});
