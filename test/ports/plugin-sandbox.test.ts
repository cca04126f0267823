import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import { createPluginSandbox } from "#adapters/plugins/index.ts";
import type { PluginCall, PluginManifest } from "#domain/ports/plugins.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";
import { plainManifest } from "../fakes/plugin-directories.ts";
import { directoryWith } from "./support/directories.ts";

const directory = directoryWith();
chmodSync(directory, 0o755);
const at = (name: string): string => join(directory, name);
const isRoot = process.getuid?.() === 0;

const script = (name: string, lines: readonly string[]): string => {
  writeFileSync(at(name), `#!/bin/sh\n${lines.join("\n")}\n`);
  chmodSync(at(name), 0o755);
  return at(name);
};
const call = (name: string, options: Partial<PluginCall> = {}, manifest: Partial<PluginManifest> = {}): PluginCall => ({
  manifest: { ...plainManifest(name), command: [at(name), "first"], ...manifest },
  path: directory,
  digest: "0".repeat(64),
  args: [],
  stdin: undefined,
  ...options,
});
const never = new AbortController().signal;

script("tells", ['printf "<%s>" "$@"', "cat", "echo hm >&2", "exit 3"]);
script("waits", ["sleep 1000"]);
script("marks", [`touch ${at("ran")}`]);
chmodSync(script("closed", []), 0o644);
const plain = createPluginSandbox({
  exec,
  hidden: [],
  hasSystemd: () => false,
  onNotEnded: ({ plugin }) => expect.unreachable(`${plugin} is not a unit`),
});

describe("the sandbox of plugins without systemd", () => {
  it("hands over arguments and input, and gives back what came of it", async () => {
    const args = ["$(id)", "a b", "", "*", "--", "\n", "ü", "$HOME", "%n", "\\"];
    const end = await plain.run(call("tells", { args, stdin: "in\n" }), never);
    const reported = ["first", ...args].map((word) => `<${word}>`).join("");
    expect(end).toEqual({ exitCode: 3, stdout: `${reported}in\n`, stderr: "hm\n", isTruncated: false });
    expect(await plain.run(call("tells"), never)).toMatchObject({ stdout: "<first>" });
  });

  it("ends a plugin that nobody waits for, before and while it runs", async () => {
    const abort = new AbortController();
    const running = plain.run(call("waits"), abort.signal);
    abort.abort();
    await expect(running).rejects.toThrow(PluginNotRun);
    await expect(running).rejects.toThrow("it was killed with all processes that it had started: its caller is gone");
    await expect(plain.run(call("tells"), abort.signal)).rejects.toThrow(PluginNotRun);
  });

  it("tries whether one could be started, without running it", async () => {
    const marks = (): readonly string[] => readdirSync(directory).filter((name) => name === "ran");
    await plain.tryStart(call("marks"), never);
    expect(marks()).toEqual([]);
    await expect(plain.tryStart(call("closed"), never)).rejects.toThrow(PluginNotRun);
    await expect(plain.tryStart(call("closed"), never)).rejects.toThrow(
      `${at("closed")} cannot be run in its sandbox on this host (exit code 1)`,
    );
    await expect(plain.tryStart(call("marks"), AbortSignal.abort())).rejects.toThrow(PluginNotRun);
  });

  it("says what it cannot do", () => {
    expect(plain.description).toMatch(/Nothing keeps them from the network, from files of their user/);
    expect(plain.description).toMatch(isRoot ? /as nobody unless they ask for root/ : /whose key store they can read/);
  });

  it("gives an environment with nothing of ours, a directory of its own that is gone afterwards, and no rights", async () => {
    process.env["STEWARD_TEST_SECRET"] = "x";
    script("looks", ["env", "pwd", "id -u", "touch here && ls", "grep NoNewPrivs /proc/self/status"]);
    const { stdout, stderr } = await plain.run(call("looks"), never);
    const lines = stdout.trim().split("\n");
    const home = lines.find((line) => line.startsWith("HOME="))?.slice(5) ?? "";
    expect(home).toMatch(/steward-plugin-/);
    expect([...lines.slice(0, 7)].sort()).toEqual(
      [
        `HOME=${home}`,
        "LANG=C.UTF-8",
        "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        `PWD=${home}`,
        `STEWARD_PLUGIN=looks`,
        `STEWARD_PLUGIN_DIR=${directory}`,
        `TMPDIR=${home}`,
      ].sort(),
    );
    expect(lines.slice(7)).toEqual([home, isRoot ? "65534" : String(process.getuid?.()), "here", "NoNewPrivs:\t1"]);
    expect(stderr).toBe("");
    expect(existsSync(home)).toBe(false);
  });

  it("ends a plugin whose time is over, deaf or not, with its group, and keeps what it wrote [bounded-commands]", async () => {
    const homes = () => readdirSync(tmpdir()).filter((name) => name.startsWith("steward-plugin-"));
    const before = homes();
    script("deaf", ['trap "" TERM', "echo started", "echo trouble >&2", "sleep 1000 & wait; wait; sleep 1000"]);
    await expect(plain.run(call("deaf", {}, { timeoutMs: 500 }), never)).rejects.toMatchObject({
      message: "it exceeded its time limit of 0.5 s, and was killed with all processes that it had started",
      output: { stdout: "started\n", stderr: "trouble\n" },
    });
    expect(homes()).toEqual(before);
  });

  it("bounds what it keeps of the output, and reads what is not UTF-8 [bounded-commands]", async () => {
    script("floods", ["head -c 30000000 /dev/zero | tr '\\0' x", "printf 'gr\\374n' >&2"]);
    const { stdout, stderr, isTruncated } = await plain.run(call("floods"), never);
    expect([stdout.length, stderr, isTruncated]).toEqual([1024 ** 2, "gr\ufffdn", true]);
  });

  it("reports the signal that ended it as a shell does", async () => {
    script("crashes", ["kill -SEGV $$"]);
    expect(await plain.run(call("crashes"), never)).toMatchObject({ exitCode: 139 });
  });

  it("bounds the memory of a process", async () => {
    writeFileSync(at("eats"), `#!/usr/bin/env python3\nx = bytearray(200 * 1024 * 1024)\nprint(len(x))\n`);
    chmodSync(at("eats"), 0o755);
    const { permissions } = plainManifest("eats");
    const little = { permissions: { ...permissions, memoryBytes: 64 * 1024 ** 2 } };
    expect(await plain.run(call("eats", {}, little), never)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("MemoryError"),
    });
    expect(await plain.run(call("eats"), never)).toMatchObject({ exitCode: 0, stdout: "209715200\n" });
  });

  it.runIf(isRoot)("runs as root who asks for it, and nobody else", async () => {
    script("who", ["id -u", "cat /etc/shadow > /dev/null && echo read"]);
    const { permissions } = plainManifest("who");
    const asRoot = { permissions: { ...permissions, user: "root" as const } };
    expect(await plain.run(call("who", {}, asRoot), never)).toMatchObject({ stdout: "0\nread\n" });
    expect(await plain.run(call("who"), never)).toMatchObject({ stdout: "65534\n" });
  });

  it("leaves nothing of its directory, whatever the plugin made of it", async () => {
    script("litters", ["ln -s /etc link; mkdir -p a/b; ln -s / a/b/root; chmod 0 a", "pwd"]);
    const { stdout } = await plain.run(call("litters"), never);
    expect(existsSync(stdout.trim())).toBe(false);
    expect(readFileSync("/etc/passwd", "utf8")).toContain("root");
  });
});
