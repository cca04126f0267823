import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createHostFiles, getBySocket } from "#adapters/host-files/index.ts";
import { containersCheck } from "#domain/health/checks/containers.ts";
import { enginesOn, readContainers } from "#domain/health/container-engines.ts";
import { until } from "../process/support/until.ts";
import { writeTinyImage } from "./support/tiny-image.ts";

const { signal } = new AbortController();
const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", LC_ALL: "C.UTF-8" };
/** No network, and limits that need not be raised. */
const modest = ["--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"];

interface Engine {
  readonly name: "docker" | "podman";
  readonly programs: readonly string[];
  /** The client, with what it is always given. */
  readonly client: readonly [string, ...string[]];
  readonly daemon: readonly [string, ...string[]];
  readonly dir: string;
}
const hostOf = (dir: string) => ({ hostFiles: createHostFiles(), getBySocket, runDir: join(dir, "run") });
const makeDir = (name: string): string => mkdtempSync(join(tmpdir(), `steward-${name}-`));

/** A daemon of its own, with neither a network nor rules of the packet filter. */
function docker(dir = makeDir("docker")): Engine {
  const address = `unix://${join(dir, "run/docker.sock")}`;
  return {
    ...{ name: "docker", dir, programs: ["dockerd", "docker", "containerd", "runc", "busybox"] },
    client: ["docker", "--host", address],
    daemon: [
      ...(["dockerd", "--data-root", join(dir, "data"), "--exec-root", join(dir, "exec"), "--host", address] as const),
      // Not beside its socket, as where a snap has it: it is the listener that says that it runs.
      ...["--pidfile", join(dir, "docker.pid"), "--storage-driver", "vfs"],
      ...["--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"],
    ],
  };
}

/** A storage of its own, and neither systemd nor cgroup v2, which not every machine has. */
function podman(dir = makeDir("podman")): Engine {
  const client = [
    ...([
      "podman",
      "--root",
      join(dir, "storage"),
      "--runroot",
      join(dir, "state"),
      "--tmpdir",
      join(dir, "tmp"),
    ] as const),
    ...["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "file", "--runtime", "runc"],
  ] as const;
  const socket = `unix://${join(dir, "run/podman/podman.sock")}`;
  return {
    ...{ name: "podman", dir, programs: ["podman", "runc", "busybox"], client },
    daemon: [...client, "system", "service", "--time", "0", socket],
  };
}

async function stop(daemon: ChildProcess): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  const ended = once(daemon, "exit");
  daemon.kill();
  await ended;
}

function runWith({ client: [program, ...given] }: Engine, words: readonly string[]): string {
  return execFileSync(program, [...given, ...words], {
    ...({ env, encoding: "utf8", timeout: 120_000 } as const),
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Starts an engine, or says why it cannot run a container here. */
async function start(engine: Engine): Promise<{ readonly daemon?: ChildProcess; readonly reason?: string }> {
  if (process.getuid?.() !== 0) return { reason: "root is needed" };
  const missing = engine.programs.filter((name) => spawnSync("sh", ["-c", `command -v ${name}`], { env }).status !== 0);
  if (missing.length > 0)
    return { reason: `missing: ${missing.join(", ")} (apt-get install docker.io podman runc busybox-static)` };
  for (const name of ["run", "run/podman"]) mkdirSync(join(engine.dir, name), { recursive: true });
  const log = join(engine.dir, "log");
  const output = openSync(log, "a");
  const [program, ...argv] = engine.daemon;
  const daemon = spawn(program, argv, { env, stdio: ["ignore", output, output] });
  const host = hostOf(engine.dir);
  await until("end of the start", async () => {
    if (daemon.exitCode !== null) return true;
    const found = await enginesOn(host);
    const answers = await readContainers(host, found, signal).then(
      () => true,
      () => false,
    );
    return (answers && found.length > 0) || undefined;
  });
  if (daemon.exitCode !== null) return { reason: `it does not start: ${readFileSync(log, "utf8").slice(-500)}` };
  try {
    runWith(engine, ["import", writeTinyImage(engine.dir), "tiny"]);
    runWith(engine, ["run", "--rm", ...modest, "tiny", "/bin/true"]);
    return { daemon };
  } catch (error) {
    return { daemon, reason: `it runs no container: ${String(Reflect.get(Object(error), "stderr") ?? error).trim()}` };
  }
}

const engines = [docker(), podman()].map((engine) => ({ ...engine, engine }));
const started = new Map<Engine, Awaited<ReturnType<typeof start>>>();
for (const { engine, name } of engines) {
  const found = await start(engine);
  started.set(engine, found);
  if (found.reason !== undefined) process.stdout.write(`skipped: containers of a real ${name}: ${found.reason}\n`);
}
afterAll(async () => {
  for (const { daemon } of started.values()) if (daemon !== undefined) await stop(daemon);
  // What Podman starts at the end of a container may still be at work.
  for (const { dir } of engines) rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
});

describe.each(engines)("containers of a real $name", ({ name, dir, engine }) => {
  const { reason, daemon } = started.get(engine) ?? {};
  const run = (...words: readonly string[]): string => runWith(engine, words);
  const host = hostOf(dir);
  const check = containersCheck({ ...host, clock: { now: Date.now } });
  const found = () => check.run({ ignore: [] }, signal);
  const startContainer = (called: string, options: readonly string[], ...command: readonly string[]): string =>
    run("run", "--detach", "--name", called, ...modest, ...options, "tiny", ...command);
  const becomes = (what: string, text: string) =>
    until(what, async () => {
      const outcome = await found();
      return outcome.message.includes(text) ? outcome : undefined;
    });

  describe.skipIf(reason !== undefined)("by its socket", () => {
    beforeEach(() => {
      const all = run("ps", "--all", "--quiet").split("\n").filter(Boolean);
      if (all.length > 0) run("rm", "--force", ...(name === "podman" ? ["--time", "0"] : []), ...all);
    });

    it("are none at first", async () => {
      expect(await found()).toMatchObject({ status: "pass", details: { engines: [name], total: 0, running: 0 } });
    });

    it("pass while they run, and when somebody has stopped them or they have done their work", async () => {
      startContainer("steady", [], "/bin/sleep", "3600");
      startContainer("stopped", ["--restart", "always"], "/bin/sleep", "3600");
      run("stop", "--time", "0", "stopped");
      startContainer("done", [], "/bin/true");
      run("wait", "done");
      expect(await found()).toMatchObject({ status: "pass", details: { total: 3, running: 1, containers: [] } });
    });

    it("fail when they are unhealthy, until they are healthy again", async () => {
      const interval = name === "docker" ? "1s" : "disable";
      const health = ["--health-cmd", "test -e /well", "--health-retries", "1", "--health-interval", interval];
      // Without systemd nobody asks for the health of those of Podman but the test.
      const ask = () =>
        name === "podman" && spawnSync("podman", [...engine.client.slice(1), "healthcheck", "run", "patient"], { env });
      startContainer("patient", health, "/bin/sleep", "3600");
      ask();
      expect(await becomes("unhealthy container", "unhealthy")).toMatchObject({
        status: "fail",
        message: `container patient is unhealthy by its own health check (${name} inspect patient)`,
        details: { containers: [{ engine: name, name: "patient", status: "fail", state: "running" }] },
      });
      run("exec", "patient", "/bin/sh", "-c", ": > /well");
      ask();
      await until("healthy container", async () => ((await found()).status === "pass" ? true : undefined));
    });

    it("fail when they ended with an error and were restarted in vain, until they are removed", async () => {
      startContainer("hopeless", ["--restart", "on-failure:2"], "/bin/sh", "-c", "exit 4");
      expect(await becomes("last restart", "given up")).toMatchObject({
        status: "fail",
        message: `container hopeless ended with exit code 4, and is given up after 2 restarts (${name} logs hopeless)`,
        details: { containers: [{ name: "hopeless", exit_code: 4, restarts: 2 }] },
      });
      run("rm", "hopeless");
      expect(await found()).toMatchObject({ status: "pass" });
    });

    it("that could not be started although they are to run fail; Podman keeps no word of them", async () => {
      expect(() => startContainer("wrong", ["--restart", "always"], "/bin/not-there")).toThrow();
      const failure = { status: "fail", details: { containers: [{ engine: name, name: "wrong", status: "fail" }] } };
      expect(await found()).toMatchObject(name === "docker" ? failure : { status: "pass" });
    });

    it.runIf(name === "docker")("fail while they end and are restarted over and over", async () => {
      startContainer("crashing", ["--restart", "always"], "/bin/sh", "-c", "exit 3");
      const { message } = await becomes("restart", "exit code");
      const again = "ends and is restarted over and over (exit code 3; docker logs crashing)";
      expect(message).toBe(`container crashing ${again}`);
      run("rm", "--force", "crashing");
      expect(await found()).toMatchObject({ status: "pass" });
    });

    it.runIf(name === "docker")("are not asked for once the engine has been stopped", async () => {
      if (daemon !== undefined) await stop(daemon);
      expect(await enginesOn(host)).toEqual([]);
    });
  });
});
