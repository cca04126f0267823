import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { createHostFiles } from "#adapters/host-files/index.ts";
import { enginesOn } from "#domain/health/container-engines.ts";

const dir = mkdtempSync(join(tmpdir(), "steward-engine-"));
const host = { hostFiles: createHostFiles(), runDir: dir };
afterAll(() => rmSync(dir, { recursive: true }));

it("Docker runs where a process listens on its socket, whatever the name of its pid file", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(dir, "docker.sock"), resolve));
  expect((await enginesOn(host)).map(({ engine }) => engine)).toEqual(["docker"]);
  await new Promise((resolve) => server.close(resolve));
});

it("Docker does not run where its socket was left behind by an engine that was killed", async () => {
  const script = `require("node:net").createServer().listen(process.argv[1], () => console.log("listens"))`;
  const child = spawn(process.execPath, ["-e", script, join(dir, "docker.sock")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  expect(await enginesOn(host)).toEqual([]);
});
