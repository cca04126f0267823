import { chown, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { tryStart } from "#domain/plugins/guarded-run.ts";
import { type PluginCall, type PluginEnd, PluginNotRun, type PluginSandbox } from "#domain/ports/plugins.ts";
import { ended, endedFor, environmentOf, maxOutputBytes, signalExitCode } from "./plugin-process.ts";

const nobody = 65_534;
const graceMs = 5_000;

const asNobody = [`--reuid=${nobody}`, `--regid=${nobody}`];
const dropsRights = [...asNobody, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"];

export function createBareSandbox(ports: { readonly exec: Exec; readonly uid?: number }): PluginSandbox {
  const { exec, uid = process.getuid?.() ?? 0 } = ports;
  const isRoot = uid === 0;

  const command = (call: PluginCall, home: string): readonly [string, ...string[]] => {
    const { permissions, command: words } = call.manifest;
    const isDropped = isRoot && permissions.user !== "root";
    const limits = [`--data=${permissions.memoryBytes}`, "--core=0", "--nofile=1024", "--"];
    const rights = ["setpriv", "--no-new-privs", ...(isDropped ? dropsRights : []), "--"];
    return [
      "prlimit",
      ...limits,
      ...rights,
      "/usr/bin/env",
      "-i",
      ...environmentOf(call, home),
      ...words,
      ...call.args,
    ];
  };

  const run = async (call: PluginCall, signal: AbortSignal): Promise<PluginEnd> => {
    const { manifest, stdin } = call;
    if (signal.aborted) throw endedFor(call, false);
    if (manifest.permissions.user === "root" && !isRoot) {
      throw new PluginNotRun("it asks to run as root, and the service does not run as root itself");
    }
    const home = await mkdtemp(join(tmpdir(), "steward-plugin-"));
    try {
      if (isRoot && manifest.permissions.user !== "root") await chown(home, nobody, nobody);
      const over = AbortSignal.any([signal, AbortSignal.timeout(manifest.timeoutMs)]);
      const options = { signal: over, timeoutMs: manifest.timeoutMs + graceMs, maxOutputBytes, cwd: home };
      try {
        const result = await exec(command(call, home), { ...options, ...(stdin !== undefined && { input: stdin }) });
        return ended(result.exitCode, result);
      } catch (error) {
        if (!(error instanceof CommandFailed)) throw error;
        if (over.aborted) throw endedFor(call, !signal.aborted, error.output);
        const killedBy = /: killed by (SIG[A-Z0-9]+)$/.exec(error.message)?.[1];
        if (killedBy === undefined) throw new PluginNotRun(`it could not be run: ${error.message}`, { cause: error });
        return ended(signalExitCode(killedBy), { stdout: "", stderr: "", truncated: false });
      }
    } finally {
      // Not by Node: what it left behind may still put links in the place of directories, which rm does not follow.
      await exec(["rm", "-rf", "--", home]);
    }
  };

  return {
    description: [
      "This host has no systemd that the service may start units with, so plugins are plain processes,",
      isRoot
        ? "as nobody unless they ask for root."
        : "as the user of the service itself, whose key store they can read.",
      "Their time and the memory of each process are bounded, they gain no rights, and get an environment of their own.",
      "Nothing keeps them from the network, from files of their user, or from leaving processes behind that have left their group.",
    ].join(" "),
    run,
    tryStart: (call, signal) => tryStart(run, call, signal),
  };
}
