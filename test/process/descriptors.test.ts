import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterAll, expect, it } from "vitest";
import { baseEnvironment, mainFile, writeSettings } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

it("outlives a flood of connections with few descriptors to spare", async () => {
  const state = workspace.path("state");
  const environment = {
    ...baseEnvironment(workspace),
    STEWARD_LISTEN: "127.0.0.1:0",
    STEWARD_STATE_DIR: state,
    STEWARD_CONFIG: writeSettings(workspace, "tracing: { receiver: off }\n"),
  };
  // A shell is the way to a lower limit; the service is what it becomes.
  const child = spawn("/bin/sh", ["-c", 'ulimit -n 160; exec "$0" "$@"', process.execPath, mainFile, "serve"], {
    env: environment,
  });
  workspace.adopt(child);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const port = await until("port", () => /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(output)?.[1]);
  await until("readiness", () => output.includes('"msg":"ready"') || undefined);
  const flood: Socket[] = Array.from({ length: 300 }, () => connect({ host: "127.0.0.1", port: Number(port) }));
  for (const socket of flood) socket.on("error", () => undefined);
  // Longer than the 5 s between two samples of the processors, which need a descriptor each.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  expect(child.exitCode).toBe(null);
  for (const socket of flood) socket.destroy();
  const key = readFileSync(`${state}/admin.key`, "utf8").trim();
  const info = await until("answer", async () => {
    const reply = await fetch(`http://127.0.0.1:${port}/api/v1/system/info`, { headers: { "x-api-key": key } }).catch(
      () => undefined,
    );
    return reply?.ok ? reply.json() : undefined;
  });
  expect(info).toMatchObject({ cpu: { load_percent: expect.any(Number) } });
  child.kill("SIGTERM");
  await until("end", () => child.exitCode ?? undefined);
  expect(child.exitCode).toBe(0);
});
