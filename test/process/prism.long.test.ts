import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { answerViolations, startPrism } from "./support/prism.ts";
import { type RunningService, startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
let service: RunningService;
let proxy: string;
beforeAll(async () => {
  service = await startService(workspace, { checks: true, environment: { STEWARD_RATE_LIMITS: "off" } });
  proxy = (await startPrism(workspace, service.url)).url;
  // Prism takes minutes to start on a busy machine.
}, 600_000);
afterAll(workspace.dispose);

/** Asks for an operation with parameters that fit no resource, and for a plan where it changes something. */
function send(base: string, { method, base: where, path, body, effect }: Operation, key?: string): Promise<Response> {
  const filled = path.replaceAll(/\{\w+\}/g, "none");
  const query = effect === "read" ? "" : "?dry_run=true";
  return fetch(`${base}${where === "root" ? "" : apiBase}${filled}${query}`, {
    method,
    headers: {
      // So that the metrics need a key as well.
      "X-Forwarded-For": "192.0.2.1",
      ...(key !== undefined && { "X-API-Key": key }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body: "{}" }),
  });
}

/** Another implementation of OpenAPI than the one that `test/api` holds each answer to. */
describe("answers as Prism reads the document", () => {
  it.each(Object.entries<Operation>(operations))("of %s have nothing that is missing in it", async (_, operation) => {
    for (const key of [service.adminKey, undefined]) {
      const answer = await send(proxy, operation, key);
      await answer.text();
      expect([answer.status, answerViolations(answer)]).toEqual([answer.status, []]);
      expect(answer.status).toBeLessThan(600);
    }
  });

  it("would be found to differ from it", async () => {
    const broken = createServer((_, response) => response.writeHead(418).end("<p>")).listen(0, "127.0.0.1");
    await once(broken, "listening");
    const { port } = broken.address() as AddressInfo;
    const other = await startPrism(workspace, `http://127.0.0.1:${port}`);
    const answer = await send(other.url, operations.getHealth, service.adminKey);
    expect(answerViolations(answer)).not.toEqual([]);
    broken.close();
  });
});
