import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createContainers } from "#adapters/containers/index.ts";
import { containersCheck } from "#domain/health/checks/containers.ts";
import { until } from "../process/support/until.ts";
import { writeTinyImage } from "./support/tiny-image.ts";

const programs = ["dockerd", "docker", "containerd", "runc", "busybox"];
const { signal } = new AbortController();
const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", LC_ALL: "C.UTF-8" };
const dir = mkdtempSync(join(tmpdir(), "steward-docker-"));
const runDir = join(dir, "run");
const address = `unix://${join(runDir, "docker.sock")}`;
const log = join(dir, "log");
/** No network, and limits that need not be raised. */
const modest = ["--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"];

const run = (...words: readonly string[]): string =>
  execFileSync("docker", ["--host", address, ...words], {
    env,
    encoding: "utf8",
    timeout: 120_000,
    stdio: ["ignore", "pipe", "pipe"],
  });

/** A daemon of its own, with neither a network nor rules of the packet filter. */
function startEngine(): ChildProcess {
  mkdirSync(runDir, { recursive: true });
  const output = openSync(log, "a");
  return spawn(
    "dockerd",
    [
      ...["--data-root", join(dir, "data"), "--exec-root", join(dir, "exec"), "--host", address],
      ...["--pidfile", join(runDir, "docker.pid"), "--storage-driver", "vfs"],
      ...["--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"],
    ],
    { env, stdio: ["ignore", output, output] },
  );
}

async function stopEngine(engine: ChildProcess): Promise<void> {
  if (engine.exitCode !== null || engine.signalCode !== null) return;
  const ended = once(engine, "exit");
  engine.kill();
  await ended;
}

let engine: ChildProcess | undefined;

async function whyNot(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "root is needed";
  const missing = programs.filter((name) => spawnSync("sh", ["-c", `command -v ${name}`], { env }).status !== 0);
  if (missing.length > 0) return `missing: ${missing.join(", ")} (apt-get install docker.io runc busybox-static)`;
  const started = startEngine();
  engine = started;
  await until("end of the start", () => {
    if (started.exitCode !== null) return "ended";
    return spawnSync("docker", ["--host", address, "version"], { env }).status === 0 ? "runs" : undefined;
  });
  if (started.exitCode !== null) return `dockerd does not start here: ${readFileSync(log, "utf8").slice(-500)}`;
  try {
    run("import", writeTinyImage(dir), "tiny");
    run("run", "--rm", ...modest, "tiny", "/bin/true");
    return undefined;
  } catch (error) {
    return `docker runs no container here: ${String(Reflect.get(Object(error), "stderr") ?? error).trim()}`;
  }
}

const reason = await whyNot();
if (reason !== undefined) process.stdout.write(`skipped: containers of a real Docker: ${reason}\n`);
afterAll(async () => {
  if (engine !== undefined) await stopEngine(engine);
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
});

describe.skipIf(reason !== undefined)("the containers of a real Docker, by its socket", () => {
  const containers = createContainers({ runDir });
  const check = containersCheck({ containers, clock: { now: Date.now } });
  const found = () => check.run({ ignore: [] }, signal);
  const start = (name: string, options: readonly string[], ...command: readonly string[]): string =>
    run("run", "--detach", "--name", name, ...modest, ...options, "tiny", ...command);
  const becomes = (what: string, status: string) =>
    until(what, async () => {
      const outcome = await found();
      return outcome.status === status ? outcome : undefined;
    });

  beforeEach(() => {
    const all = run("ps", "--all", "--quiet").split("\n").filter(Boolean);
    if (all.length > 0) run("rm", "--force", ...all);
  });

  it("are none at first", async () => {
    expect(await found()).toMatchObject({ status: "pass", details: { engines: ["docker"], total: 0, running: 0 } });
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
    const health = ["--health-cmd", "test -e /well", "--health-retries", "1", "--health-interval", "1s"];
    start("patient", health, "/bin/sleep", "3600");
    expect(await becomes("unhealthy container", "fail")).toMatchObject({
      message: "container patient is unhealthy by its own health check (docker inspect patient)",
      details: { containers: [{ engine: "docker", name: "patient", status: "fail", state: "running" }] },
    });
    run("exec", "patient", "/bin/sh", "-c", ": > /well");
    await becomes("healthy container", "pass");
  });

  it("fail while they end and are restarted over and over, and pass once they are removed", async () => {
    start("crashing", ["--restart", "always"], "/bin/sh", "-c", "exit 3");
    const { message } = await until("restart", async () => {
      const outcome = await found();
      return outcome.message.includes("exit code") ? outcome : undefined;
    });
    expect(message).toBe("container crashing ends and is restarted over and over (exit code 3; docker logs crashing)");
    run("rm", "--force", "crashing");
    expect(await found()).toMatchObject({ status: "pass" });
  });

  it("fail when they ended with an error and were restarted in vain", async () => {
    start("hopeless", ["--restart", "on-failure:2"], "/bin/sh", "-c", "exit 4");
    const { details } = await until("last restart", async () => {
      const outcome = await found();
      return outcome.message.includes("given up") ? outcome : undefined;
    });
    expect(details).toMatchObject({ containers: [{ name: "hopeless", exit_code: 4, restarts: 2 }] });
  });

  it("fail where they cannot be started although they are to run", async () => {
    expect(() => start("wrong", ["--restart", "always"], "/bin/not-there")).toThrow();
    expect(await found()).toMatchObject({
      status: "fail",
      details: { containers: [{ engine: "docker", name: "wrong", status: "fail" }] },
    });
  });

  it("are not asked for once the engine has been stopped", async () => {
    if (engine !== undefined) await stopEngine(engine);
    expect(await containers.engines()).toEqual([]);
  });
});
