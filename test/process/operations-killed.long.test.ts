import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { runProgram } from "./support/program.ts";
import { baseEnvironment, makeDirectory, root } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const script = join(root, "test/host/support/run-operations.ts");
const stateDir = makeDirectory(workspace, "state");
const environment = { ...baseEnvironment(workspace), STEWARD_STATE_DIR: stateDir, STEWARD_TEST_DETACHED: "1" };

/** The service, which starts an operation and looks after it. */
async function start(kind: string, input: object): Promise<{ readonly id: string; readonly service: ChildProcess }> {
  const service = spawn(process.execPath, [script, "start", kind, JSON.stringify(input)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: environment,
  });
  workspace.adopt(service);
  let text = "";
  service.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  return { id: await until("an id", () => (text.endsWith("\n") ? text.trim() : undefined)), service };
}

interface Ended {
  readonly state: { readonly status: string; readonly error: unknown; readonly result: unknown };
}
/** What the next service says of an operation once it has ended. */
async function look(id: string): Promise<Ended> {
  const { code, stdout, stderr } = await runProgram(workspace, [process.execPath, script, "look", id], { environment });
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Ended;
}

function readClaim(id: string, number: number): number | undefined {
  const path = join(stateDir, "operations", id, `claim.${number}`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as { pid: number }).pid : undefined;
}
const claimOf = (id: string, number: number): Promise<number> => until(`claim ${number}`, () => readClaim(id, number));
const numbersIn = (file: string): readonly number[] => readFileSync(file, "utf8").trim().split("\n").map(Number);
const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once("exit", () => resolve());
  });
/** Kills a task, unless it has just ended by itself. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    expect(error).toMatchObject({ code: "ESRCH" });
  }
}

describe("an operation without systemd", () => {
  it("continues when the service is killed, and is found by the next", async () => {
    const file = workspace.path("numbers");
    const { id, service } = await start("count", { to: 20, stepMs: 50, file });
    await claimOf(id, 1);
    service.kill("SIGKILL");
    await ended(service);
    expect((await look(id)).state).toMatchObject({ status: "done", error: null });
    expect(numbersIn(file)).toEqual([...Array(20).keys()]);
    expect(existsSync(join(stateDir, "operations", id, "claim.2"))).toBe(false);
  });

  it("is failed as interrupted when its task is killed", async () => {
    const { id, service } = await start("once", { argv: ["/bin/sleep", "5"] });
    kill(await claimOf(id, 1));
    await ended(service);
    expect((await look(id)).state).toMatchObject({ status: "failed", error: { details: { reason: "interrupted" } } });
  });

  it("is refused while another with its lock runs, and ends as stopped at SIGTERM", async () => {
    const { id, service } = await start("count", { to: 1000, stepMs: 50, file: workspace.path("long") });
    const task = await claimOf(id, 1);
    service.kill("SIGKILL");
    await ended(service);
    const words = [script, "start", "count", JSON.stringify({ to: 1, stepMs: 1, file: workspace.path("other") })];
    const { code, stderr } = await runProgram(workspace, [process.execPath, ...words], { environment });
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining(id)]);
    expect(existsSync(workspace.path("other"))).toBe(false);
    process.kill(task, "SIGTERM");
    expect((await look(id)).state).toMatchObject({ status: "failed", error: { details: { reason: "stopped" } } });
  });

  it("runs to completion when service and task are killed at random times", async () => {
    const { fraction: random } = createRandom(seed);
    for (let round = 0; round < 6; round += 1) {
      const file = workspace.path(`killed-${round}`);
      const { id, service } = await start("count", { to: 25, stepMs: 10, file });
      const task = await claimOf(id, 1);
      const done = Math.floor(random() * 24);
      await until(`number ${done}`, () => (existsSync(file) && numbersIn(file).length > done) || undefined);
      const isServiceFirst = random() < 0.5;
      if (isServiceFirst) service.kill("SIGKILL");
      kill(task);
      if (!isServiceFirst) {
        // On a busy machine it may have come to its end before it was killed.
        const isDone = () => readFileSync(join(stateDir, "operations", id, "state.json"), "utf8").includes('"done"');
        const next = await until("claim 2, or the end", () => readClaim(id, 2) ?? (isDone() ? 0 : undefined));
        if (next > 0) kill(next);
        service.kill("SIGKILL");
      }
      await ended(service);
      expect((await look(id)).state).toMatchObject({ status: "done", error: null });
      const numbers = numbersIn(file);
      expect([...new Set(numbers)]).toEqual([...Array(25).keys()]);
      expect(numbers.length).toBeLessThanOrEqual(25 + 2);
    }
  });
});
