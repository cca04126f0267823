import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createContainers } from "#adapters/containers/index.ts";
import { containersCheck } from "#domain/health/checks/containers.ts";
import { until } from "../process/support/until.ts";
import { writeTinyImage } from "./support/tiny-image.ts";

const programs = ["podman", "runc", "busybox"];
const { signal } = new AbortController();
const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", LC_ALL: "C.UTF-8" };
const dir = mkdtempSync(join(tmpdir(), "steward-podman-"));
const runDir = join(dir, "run");
const socket = join(runDir, "podman/podman.sock");
/** A storage of its own, and neither systemd nor cgroup v2, which not every machine has. */
const podman = [
  ...["--root", join(dir, "storage"), "--runroot", join(dir, "state"), "--tmpdir", join(dir, "tmp")],
  ...["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "file", "--runtime", "runc"],
];
/** No network, and limits that need not be raised. */
const modest = ["--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"];

const run = (...words: readonly string[]): string =>
  execFileSync("podman", [...podman, ...words], {
    env,
    encoding: "utf8",
    timeout: 60_000,
    stdio: ["ignore", "pipe", "pipe"],
  });

function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return "root is needed";
  const missing = programs.filter((name) => spawnSync("sh", ["-c", `command -v ${name}`], { env }).status !== 0);
  if (missing.length > 0) return `missing: ${missing.join(", ")} (apt-get install podman runc busybox-static)`;
  try {
    run("import", writeTinyImage(dir), "tiny");
    run("run", "--rm", ...modest, "tiny", "/bin/true");
    return undefined;
  } catch (error) {
    return `podman runs no container here: ${String(Reflect.get(Object(error), "stderr") ?? error).trim()}`;
  }
}

const reason = whyNot();
if (reason !== undefined) process.stdout.write(`skipped: containers of a real Podman: ${reason}\n`);
// What Podman starts at the end of a container may still be at work.
afterAll(() => rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 }));

describe.skipIf(reason !== undefined)("the containers of a real Podman, by its socket", () => {
  let service: ChildProcess | undefined;
  const check = containersCheck({ containers: createContainers({ runDir }), clock: { now: Date.now } });
  const found = () => check.run({ ignore: [] }, signal);
  const start = (name: string, options: readonly string[], ...command: readonly string[]): string =>
    run("run", "--detach", "--name", name, ...modest, ...options, "tiny", ...command);

  beforeAll(async () => {
    mkdirSync(join(runDir, "podman"), { recursive: true });
    service = spawn("podman", [...podman, "system", "service", "--time", "0", `unix://${socket}`], {
      env,
      stdio: "ignore",
    });
    await until("the socket", () => (existsSync(socket) ? true : undefined));
  });
  afterAll(async () => {
    run("rm", "--all", "--force", "--time", "0");
    if (service === undefined) return;
    const ended = once(service, "exit");
    service.kill();
    await ended;
  });

  it("are none at first", async () => {
    expect(await found()).toMatchObject({ status: "pass", details: { engines: ["podman"], total: 0, running: 0 } });
  });

  it("pass while they run, and when somebody has stopped them or they have done their work", async () => {
    start("steady", [], "/bin/sleep", "3600");
    start("stopped", ["--restart", "always"], "/bin/sleep", "3600");
    run("stop", "--time", "0", "stopped");
    start("done", [], "/bin/true");
    run("wait", "done");
    expect(await found()).toMatchObject({ status: "pass", details: { total: 3, running: 1, containers: [] } });
  });

  it("fail when they are unhealthy, until they are healthy again", async () => {
    const health = [
      "--health-cmd",
      "/bin/sh -c 'test -e /well'",
      "--health-retries",
      "1",
      "--health-interval",
      "disable",
    ];
    start("patient", health, "/bin/sleep", "3600");
    spawnSync("podman", [...podman, "healthcheck", "run", "patient"], { env });
    expect(await found()).toMatchObject({
      status: "fail",
      message: "container patient is unhealthy by its own health check (podman inspect patient)",
      details: { containers: [{ engine: "podman", name: "patient", status: "fail", state: "running" }] },
    });
    run("exec", "patient", "/bin/sh", "-c", ": > /well");
    run("healthcheck", "run", "patient");
    expect(await found()).toMatchObject({ status: "pass" });
  });

  it("fail when they ended with an error and were restarted in vain, until they are removed", async () => {
    start("crashing", ["--restart", "on-failure:3"], "/bin/sh", "-c", "exit 3");
    await until("the last restart", async () => {
      const { message } = await found();
      return message.includes("given up") ? true : undefined;
    });
    expect(await found()).toMatchObject({
      status: "fail",
      message: "container crashing ended with exit code 3, and is given up after 3 restarts (podman logs crashing)",
      details: { containers: [{ name: "crashing", exit_code: 3, restarts: 3 }] },
    });
    run("rm", "crashing");
    expect(await found()).toMatchObject({ status: "pass" });
  });

  it("are not known to have failed where they could not be started: Podman keeps no word of that", async () => {
    expect(() => start("wrong", ["--restart", "always"], "/bin/not-there")).toThrow();
    expect(run("inspect", "--format", "{{.State.Status}} {{.State.ExitCode}} {{.State.Error}}", "wrong").trim()).toBe(
      "created 0",
    );
    expect(await found()).toMatchObject({ status: "pass" });
  });
});
