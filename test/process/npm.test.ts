import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { delimiter } from "node:path";
import { afterAll, expect, it } from "vitest";
import { root } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
const groups: number[] = [];
afterAll(() => {
  for (const group of groups) {
    try {
      process.kill(-group, "SIGKILL");
    } catch {
      // Nothing of it is left, as it should be.
    }
  }
  return workspace.dispose();
});

/** What a process was started as; empty when it is gone. */
const commandLine = (pid: number): string => {
  const path = `/proc/${pid}/cmdline`;
  try {
    return existsSync(path) ? readFileSync(path, "utf8").replaceAll("\0", " ") : "";
  } catch {
    return "";
  }
};

/** The processes of a process group, dead ones that wait for their parent left out. */
const groupOf = (group: number): readonly number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const [state, , pgrp] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        return state !== "Z" && Number(pgrp) === group;
      } catch {
        return false;
      }
    })
    .map(Number);

interface Started {
  readonly npm: ChildProcess & { readonly pid: number };
  /** Of the service. */
  readonly pid: number;
  readonly url: string;
  readonly output: () => string;
}

/** `npm start`, in a process group of its own, once the service is ready. */
async function npmStart(script: readonly string[] = ["start"]): Promise<Started> {
  const npm = spawn("npm", script, {
    cwd: root,
    env: {
      // The machine's own npm, not what a development directory brings along.
      PATH: (process.env["PATH"] ?? "")
        .split(delimiter)
        .filter((directory) => !directory.includes("node_modules"))
        .join(delimiter),
      HOME: workspace.path(),
      npm_config_update_notifier: "false",
      STEWARD_LISTEN: "127.0.0.1:0",
      STEWARD_STATE_DIR: workspace.path(`state-${groups.length}`),
    },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [npm.stdout, npm.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  const { pid: group } = npm;
  if (group === undefined) throw new Error("cannot start npm");
  groups.push(group);
  await until("answer of npm start", () => output.includes('"msg":"ready"') || undefined, 60_000);
  const pid = groupOf(group).find((each) => /program\.mjs serve|src\/main\.ts serve/.test(commandLine(each)));
  const url = /"url":"([^"]+)"/.exec(output)?.[1];
  if (pid === undefined || url === undefined) throw new Error(`cannot find the service of npm start:\n${output}`);
  return { npm: Object.assign(npm, { pid: group }), pid, url, output: () => output };
}

it.each(["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const)(
  "ends with npm when that gets %s alone",
  async (signal) => {
    const { npm, url, output } = await npmStart();
    const ended = once(npm, "close");
    npm.kill(signal);
    // The output closes when the last process that holds it has ended.
    await ended;
    expect(output()).toContain('"msg":"stopped"');
    // A process closes its output some times before it is gone.
    await until("end of every process of npm", () => groupOf(npm.pid).length === 0 || undefined);
    await expect(fetch(`${url}/livez`)).rejects.toThrow();
  },
);

it("ends in order on Ctrl-C, which the terminal sends to all and npm passes on once more", async () => {
  const { npm, output } = await npmStart(["run", "steward", "--", "serve"]);
  const ended = once(npm, "close");
  process.kill(-npm.pid, "SIGINT");
  await ended;
  expect(output()).toContain('"msg":"stopped"');
  expect(groupOf(npm.pid)).toEqual([]);
});

it("continues with a parent that is not npm's when that ends", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const shell = spawn("/bin/sh", ["-c", 'sh scripts/run production src/main.ts serve & echo "started $!"; wait'], {
    cwd: root,
    env: {
      PATH: process.env["PATH"],
      HOME: workspace.path(),
      STEWARD_LISTEN: "127.0.0.1:0",
      STEWARD_STATE_DIR: workspace.path("state-shell"),
    },
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  if (shell.pid !== undefined) groups.push(shell.pid);
  let output = "";
  shell.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    const [, pid] = /started (\d+)/.exec(output) ?? [];
    if (pid !== undefined) resolve(Number(pid));
  });
  const pid = await promise;
  await until("ready", () => output.includes('"msg":"ready"') || undefined, 60_000);
  const gone = once(shell, "exit");
  shell.kill("SIGKILL");
  await gone;
  const url = /"url":"([^"]+)"/.exec(output)?.[1];
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  const closed = once(shell, "close");
  process.kill(pid, "SIGTERM");
  await closed;
  expect(output).toContain('"msg":"stopped"');
});
