import { connect, type Socket } from "node:net";
import { afterAll, expect, it } from "vitest";
import { startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

it("a service with few descriptors outlives a flood of connections, and continues with what needs more of them [caps]", async () => {
  const service = await startService(workspace, { openFiles: 160, checks: true });
  const get = async (path: string): Promise<unknown> => {
    const headers = { "X-API-Key": service.adminKey };
    const reply = await fetch(`${service.url}/api/v1${path}`, { headers }).catch(() => undefined);
    return reply?.ok ? reply.json() : undefined;
  };
  const flood: Socket[] = Array.from({ length: 300 }, () => connect({ host: "127.0.0.1", port: service.port }));
  let closed = 0;
  for (const socket of flood) {
    socket.on("error", () => undefined);
    socket.resume().once("close", () => {
      closed += 1;
    });
  }
  // Those beyond the limit have been turned away: as many as may be are open.
  await until("connections that are turned away", () => closed > 200 || undefined);
  // Samples of the processors and checks read files while the flood lasts.
  expect(await until("an answer", () => get("/system/info"))).toMatchObject({ cpu: { cores: expect.any(Number) } });
  expect(await until("a check", () => get("/health/checks/memory"))).toMatchObject({ status: expect.any(String) });
  for (const socket of flood) socket.destroy();
  service.kill("SIGTERM");
  expect(await service.exit).toEqual({ code: 0, signal: null });
});
