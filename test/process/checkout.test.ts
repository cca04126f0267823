import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { root } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

let checkout: string;
const inCheckout = (...parts: readonly string[]): string => [checkout, ...parts].join("/");

/** Takes the place of npm: installs a Node, waits in the middle while the file `hold` is there, and fails where `fail` is. */
const npm = `#!/bin/sh
set -eu
echo started >>"$CHECKOUT/npm.log"
mkdir -p node_modules/.bin
while [ -e "$CHECKOUT/hold" ]; do sleep 0.02; done
[ ! -e "$CHECKOUT/fail" ]
ln -s "$NODE" node_modules/.bin/node
echo done >>"$CHECKOUT/npm.log"
`;

beforeEach(() => {
  checkout = workspace.path(`checkout-${randomUUID()}`);
  mkdirSync(inCheckout("scripts"), { recursive: true });
  mkdirSync(inCheckout("bin"));
  copyFileSync(`${root}/scripts/run`, inCheckout("scripts/run"));
  for (const name of ["package.json", "package-lock.json", ".npmrc"]) writeFileSync(inCheckout(name), `"${name}"\n`);
  writeFileSync(inCheckout("bin/npm"), npm);
  chmodSync(inCheckout("bin/npm"), 0o755);
  writeFileSync(inCheckout("hello.mjs"), "console.log(process.argv.slice(2).join());\n");
});

interface Run {
  readonly child: ChildProcess & { readonly pid: number };
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

/** Runs a program of the checkout, in a process group of its own. */
function start(kind: "production" | "development", ...argv: readonly string[]): Run {
  const child = spawn("sh", [inCheckout("scripts/run"), kind, "hello.mjs", ...argv], {
    cwd: checkout,
    env: {
      PATH: [inCheckout("bin"), "/usr/bin", "/bin"].join(delimiter),
      CHECKOUT: checkout,
      NODE: process.execPath,
    },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  workspace.adopt(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  if (child.pid === undefined) throw new Error("cannot start sh");
  const ended = once(child, "close").then(([code]) => code as number | null);
  return { child: Object.assign(child, { pid: child.pid }), output: () => output, ended };
}

const hold = (): void => writeFileSync(inCheckout("hold"), "");
const release = (): void => rmSync(inCheckout("hold"));
const npmLog = (): readonly string[] =>
  existsSync(inCheckout("npm.log")) ? readFileSync(inCheckout("npm.log"), "utf8").trim().split("\n") : [];
const npmBegan = (times = 1): Promise<true> =>
  until("start of npm", () => npmLog().filter((line) => line === "started").length === times || undefined);

describe("scripts/run", () => {
  it("installs once for two commands at once, and runs both", async () => {
    hold();
    const first = start("development", "first");
    await npmBegan();
    const second = start("development", "second");
    await until("word of the second command", () => second.output().includes("waiting for another") || undefined);
    release();
    expect(await Promise.all([first.ended, second.ended])).toEqual([0, 0]);
    expect(npmLog()).toEqual(["started", "done"]);
    expect([first.output(), second.output()]).toEqual([
      expect.stringMatching(/installing development dependencies\n(.*\n)*first\n$/),
      expect.stringMatching(/waiting for another command that installs dependencies here\n(.*\n)*second\n$/),
    ]);
  });

  it("begins an installation again that was killed, and leaves nothing of it", async () => {
    hold();
    const killed = start("development", "killed");
    await npmBegan();
    process.kill(-killed.child.pid, "SIGKILL");
    await killed.ended;
    release();
    expect(existsSync(inCheckout("node_modules"))).toBe(false);
    const again = start("development", "again");
    expect([await again.ended, again.output()]).toEqual([0, expect.stringMatching(/again\n$/)]);
    expect(readdirSync(inCheckout(".install"))).toEqual(["lock"]);
  });

  it("leaves what was installed as it is where npm fails", async () => {
    expect(await start("production").ended).toBe(0);
    writeFileSync(inCheckout("package-lock.json"), "changed\n");
    writeFileSync(inCheckout("fail"), "");
    const failed = start("production");
    expect([await failed.ended, failed.output()]).toEqual([2, expect.stringContaining("npm failed")]);
    expect(existsSync(inCheckout("node_modules/.bin/node"))).toBe(true);
    rmSync(inCheckout("fail"));
    expect(await start("production").ended).toBe(0);
  });

  it("installs for development beside a running program, whose files stay where they are", async () => {
    expect(await start("production").ended).toBe(0);
    const late = inCheckout("node_modules/.cache/program/1/late.mjs");
    mkdirSync(dirname(late), { recursive: true });
    writeFileSync(late, 'console.log("late");\n');
    writeFileSync(
      inCheckout("hello.mjs"),
      `process.on("SIGUSR2", () => import(${JSON.stringify(late)}).then(() => process.exit(0)));
       setInterval(() => undefined, 1000);
       console.log("running");`,
    );
    const running = start("production");
    await until("the running program", () => running.output().includes("running") || undefined);
    const other = start("development", "--version");
    await until("word of the other program", () => other.output().includes("running") || undefined);
    expect(existsSync(inCheckout("node_modules/.steward-development"))).toBe(true);
    running.child.kill("SIGUSR2");
    expect([await running.ended, running.output()]).toEqual([0, expect.stringMatching(/late\n$/)]);
  });

  it("installs again where the Node is missing though the stamp is there, and takes a development installation for both", async () => {
    expect(await start("development").ended).toBe(0);
    expect(await start("production").ended).toBe(0);
    expect(npmLog()).toEqual(["started", "done"]);
    rmSync(inCheckout("node_modules/.bin"), { recursive: true });
    expect(await start("production").ended).toBe(0);
    expect(npmLog()).toHaveLength(4);
  });

  it("replaces a link in the place of node_modules, and nothing of what it leads to", async () => {
    mkdirSync(inCheckout("elsewhere"));
    writeFileSync(inCheckout("elsewhere/kept"), "");
    symlinkSync("elsewhere", inCheckout("node_modules"));
    expect(await start("development").ended).toBe(0);
    expect(readdirSync(inCheckout("elsewhere"))).toEqual(["kept"]);
  });
});
