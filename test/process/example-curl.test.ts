import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { where } from "./support/optional-program.ts";
import { type Ran, runProgram } from "./support/program.ts";
import { type RunningService, root, startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const script = join(root, "examples/curl/steward.sh");
const workspace = createWorkspace();
let service: RunningService;
beforeAll(async () => {
  service = await startService(workspace, { environment: { STEWARD_RATE_LIMITS: "off" } });
});
afterAll(workspace.dispose);

const run = (words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ran> =>
  runProgram(workspace, ["/bin/sh", script, ...words], {
    environment: { STEWARD_URL: service.url, STEWARD_API_KEY: service.adminKey, ...environment },
  });

where("jq", () =>
  describe("the example for curl", () => {
    it("prints the health status and exits by it", async () => {
      const { code, stdout, stderr } = await run(["health"]);
      const [, status] = /^(\w+), version \S+, up for \d+ s\n$/.exec(stdout) ?? [];
      expect([stderr, code]).toEqual(["", status === "healthy" ? 0 : 1]);
    });

    it("lists processes page by page, each once", async () => {
      const { total } = await createClient({ url: service.url, key: service.adminKey }).listProcesses();
      // Three pages, or four.
      const size = Math.max(1, Math.floor(total / 3));
      const { code, stdout } = await run(["processes"], { PAGE_SIZE: String(size) });
      const pids = stdout
        .trim()
        .split("\n")
        .map((line) => Number(line.split("\t", 1)[0]));
      expect(code).toBe(0);
      expect(pids).toContain(service.pid);
      expect(pids.length).toBeGreaterThan(size);
      expect(pids).toEqual([...new Set(pids)].sort((a, b) => a - b));
    });

    it.each<[string, readonly string[], Readonly<Record<string, string>>, RegExp]>([
      ["a wrong key", ["health"], { STEWARD_API_KEY: "stw_x" }, /^UNAUTHORIZED: .+\n$/],
      ["every fault", ["processes"], { PAGE_SIZE: "0" }, /^VALIDATION_ERROR: .+\n {2}limit: .+\n$/],
      ["an unknown service", ["restart", "no such/../one"], {}, /^[A-Z_]+: .+\n/],
      ["updates that are disabled", ["update", "--yes"], {}, /^UNAVAILABLE: .+\n$/],
    ])("prints the error of the service: %s", async (_, words, environment, message) => {
      expect(await run(words, environment)).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(message) });
    });

    it("prints its usage, and asks nothing without a key", async () => {
      expect(await run([])).toMatchObject({ code: 2, stderr: expect.stringContaining("steward.sh update [--yes]") });
      const { code, stderr } = await run(["health"], { STEWARD_API_KEY: "" });
      expect([code === 0, stderr]).toEqual([false, expect.stringContaining("set STEWARD_API_KEY")]);
    });

    it("waits as long as Retry-After says, and follows no redirection", async () => {
      let asked = 0;
      // Limits of a service that really refuses are full for a minute.
      const busy = createServer((request, reply) => {
        asked += 1;
        if (asked === 1) {
          const body = { error: { code: "RATE_LIMITED", message: "too many requests" } };
          return reply.writeHead(429, { "Retry-After": "1" }).end(JSON.stringify(body));
        }
        return reply.writeHead(307, { Location: `${service.url}${request.url}` }).end("{}");
      });
      await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve));
      const address = busy.address();
      const port = typeof address === "object" ? address?.port : 0;
      const { code, stderr } = await run(["health"], { STEWARD_URL: `http://127.0.0.1:${port}` });
      busy.close();
      // A redirection is not followed: the key is for this address.
      expect([code, asked, stderr]).toEqual([
        1,
        2,
        "the service is busy: again in 1 s\nstatus 307, and no answer of Steward\n",
      ]);
    });
  }),
);
