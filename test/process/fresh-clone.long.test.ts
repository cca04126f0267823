import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace, type Workspace } from "./support/workspace.ts";

let workspace: Workspace;
let clone: string;
beforeAll(() => {
  workspace = createWorkspace();
  clone = workspace.path("clone");
  // What a clone of the work tree would hold: nothing that is ignored, so nothing that was installed.
  const list = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
  for (const file of list
    .toString()
    .split("\0")
    .filter((each) => each !== "" && existsSync(join(root, each)))) {
    cpSync(join(root, file), join(clone, file));
  }
});
afterAll(() => workspace.dispose());

/** The environment of a person at a shell: nothing of this checkout on the path. */
const environment = () => ({
  PATH: (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((directory) => !directory.includes("node_modules"))
    .join(delimiter),
  HOME: process.env["HOME"] ?? "/root",
  STEWARD_LISTEN: "127.0.0.1:0",
  STEWARD_STATE_DIR: workspace.path("state"),
});

/** Runs `npm start` until the service listens, hands it over, and stops it. */
async function npmStart(use: (started: { output: () => string; pid: number }) => void): Promise<string> {
  const npm = spawn("npm", ["start"], {
    cwd: clone,
    env: environment(),
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [npm.stdout, npm.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  const ended = once(npm, "close");
  try {
    const answered = () => output.includes('"msg":"ready"') || npm.exitCode !== null || undefined;
    await until("answer of npm start", answered, 280_000);
    expect(output).toContain('"msg":"ready"');
    const pids = execFileSync("ps", ["-o", "pid=", "-g", String(npm.pid)])
      .toString()
      .trim()
      .split(/\s+/)
      .map(Number);
    const pid = pids.find((each) =>
      /(?:main\.ts|program\.mjs)\0serve/.test(readFileSync(`/proc/${each}/cmdline`, "utf8")),
    );
    if (pid === undefined) throw new Error("cannot find the service among the processes of npm start");
    use({ output: () => output, pid });
    process.kill(pid, "SIGTERM");
  } finally {
    const isOver = await Promise.race([ended.then(() => true), sleep(6_000).then(() => false)]);
    // npm has a group of its own, so the service goes with it.
    if (!isOver && npm.pid !== undefined) process.kill(-npm.pid, "SIGKILL");
  }
  return output;
}

it("starts with one command: installs what production needs, on the pinned Node, and the line it prints works", async () => {
  const first = await npmStart(({ output, pid }) => {
    expect(output()).toContain("installing production dependencies");
    expect(output()).toContain("bundling the program");
    expect(readlinkSync(`/proc/${pid}/exe`)).toMatch(/node-linux-(x64|arm64)\/bin\/node$/);
    expect(existsSync(join(clone, "node_modules/vitest"))).toBe(false);
    expect(existsSync(join(clone, "node_modules/typescript"))).toBe(false);
    expect(statSync(workspace.path("state/admin.key")).mode & 0o777).toBe(0o600);
    const line =
      output()
        .split("\n")
        .find((each) => each.trimStart().startsWith("curl")) ?? "";
    const answer = execFileSync("sh", ["-c", line], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    expect(JSON.parse(answer)).toMatchObject({ version: expect.any(String), components: { cli: true } });
  });
  expect(first).toContain('"msg":"stopped"');
  const second = await npmStart(({ output }) => {
    expect(output()).not.toContain("installing");
    expect(output()).not.toContain("admin key written");
    // How to continue is said at each start by hand.
    expect(output()).toMatch(/The admin key is in \S+\/admin\.key\. Try:\n\n {2}curl /);
  });
  expect(second).toContain('"msg":"stopped"');
});

const cache = () => join(clone, "node_modules/.cache/program");
const bundles = (): readonly string[] => readdirSync(cache()).filter((name) => /^\d+-\d+$/.test(name));

/** Runs a short command of the program as `bin/steward` does. @returns what it printed, errors too. */
const steward = async (...args: readonly string[]): Promise<string> => {
  const child = spawn(join(clone, "bin/steward"), args, {
    cwd: clone,
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  await once(child, "close");
  return output;
};

it("npm test installs its tools beside npm start, which continues and loads what it has not loaded yet", async () => {
  const npm = spawn("npm", ["start"], {
    cwd: clone,
    env: environment(),
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  workspace.adopt(npm);
  let output = "";
  npm.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const url = await until("address", () => /"url":"([^"]+)"/.exec(output)?.[1], 120_000);
  const help = execFileSync("npm", ["test", "--", "--help"], { cwd: clone, env: environment(), encoding: "utf8" });
  expect(help).toContain("usage: npm test");
  expect(existsSync(join(clone, "node_modules/vitest"))).toBe(true);
  // The page of the reference is read from the dependencies, the document is made by a part of the bundle that is loaded then.
  const headers = { "X-API-Key": readFileSync(workspace.path("state/admin.key"), "utf8").trim() };
  for (const path of ["/api/v1/docs", "/api/v1/docs/swagger-ui.css", "/api/v1/openapi.json"])
    expect([path, (await fetch(`${url}${path}`, { headers })).status]).toEqual([path, 200]);
  const ended = once(npm, "close");
  npm.kill("SIGTERM");
  await ended;
  for (const directory of [".cache", ".cache/program"])
    expect([directory, statSync(join(clone, "node_modules", directory)).mode & 0o777]).toEqual([directory, 0o755]);
});

it("runs a bundle, which is made again when a source has changed, also when two start at once", async () => {
  const before = bundles();
  expect(before).toHaveLength(1);
  await npmStart(({ pid }) => {
    expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).toContain(`${cache()}/${before[0]}/program.mjs`);
  });
  expect(bundles()).toEqual(before);
  const source = join(clone, "src/cli/program.ts");
  writeFileSync(source, readFileSync(source, "utf8").replace("Looks after this Linux host", "Changed"));
  const printed = await Promise.all([steward("--help"), steward("--help")]);
  expect(printed).toEqual([
    expect.stringContaining("Changed: runs the API service"),
    expect.stringContaining("Changed: runs the API service"),
  ]);
  // What may still be started or run is kept.
  expect(bundles()).toEqual(expect.arrayContaining([...before]));
  expect(bundles()).toContain(readFileSync(join(cache(), "current"), "utf8").trim());
});

it("runs the sources where no bundle can be kept, or one cannot be made", async () => {
  rmSync(cache(), { recursive: true });
  writeFileSync(cache(), "");
  expect(await steward("--help")).toContain("Changed: runs the API service");
  rmSync(cache());
  appendFileSync(join(clone, "src/app/serve.ts"), "\nthis is not a program\n");
  expect(await steward("--help")).toContain("Changed: runs the API service");
});
