import {
  type ConfirmedPlugins,
  type EnabledPlugin,
  type PluginCall,
  type PluginDirectories,
  type PluginEnd,
  type PluginManifest,
  PluginNotRun,
  type PluginSandbox,
} from "#domain/ports/plugins.ts";
import type { Clock } from "#kernel/clock.ts";
import { confirmationFault } from "./confirmation.ts";
import type { LoadedPlugin, RunResult } from "./plugin-kind.ts";

export const changedFault = "it changed on disk since it was enabled: enable it again to accept it as it is now";
export const goneFault = "its directory is gone";

/** For runs that the sandbox cannot end. */
const graceMs = 5_000;

/** Runs enabled plugins only as they were enabled, within their time limit. */
export function createGuardedRun(ports: {
  readonly parts: () => {
    readonly directories: Pick<PluginDirectories, "read">;
    readonly sandbox: PluginSandbox;
    readonly confirmed?: ConfirmedPlugins | undefined;
  };
  readonly clock: Pick<Clock, "sleep">;
  readonly onRun: (run: { readonly plugin: string; readonly result: RunResult }) => void;
  /** Called with the digest of a plugin that is not run since it changed. */
  readonly onChanged: (plugin: string, digest: string) => void;
}): (enabled: EnabledPlugin, manifest: PluginManifest, over: AbortSignal) => LoadedPlugin["run"] {
  const { parts, clock, onRun, onChanged } = ports;

  /** Called right before each run. */
  const requireUnchanged = async ({ name, path, digest }: EnabledPlugin): Promise<void> => {
    const found = await parts().directories.read(path);
    if (found === undefined) throw new PluginNotRun(goneFault);
    if ("fault" in found.loaded) throw new PluginNotRun(found.loaded.fault);
    if (found.loaded.digest !== digest) {
      onChanged(name, found.loaded.digest);
      throw new PluginNotRun(changedFault);
    }
    // Root would refuse it too, at the cost of a process.
    const unconfirmed = confirmationFault(found.loaded.manifest, { path, digest }, parts().confirmed);
    if (unconfirmed !== undefined) throw new PluginNotRun(unconfirmed);
  };

  return (enabled, manifest, over) => async (input, read, signal) => {
    const { args = [], stdin, timeoutMs = manifest.timeoutMs } = input;
    const ended = new AbortController();
    const late = new AbortController();
    const end = AbortSignal.any([over, late.signal, ...(signal === undefined ? [] : [signal])]);
    let result: RunResult = "failure";
    try {
      await requireUnchanged(enabled);
      end.throwIfAborted();
      void clock.sleep(timeoutMs + graceMs, ended.signal).then(() => {
        if (!ended.signal.aborted) late.abort(new PluginNotRun(`it did not end within ${timeoutMs / 1000} s`));
      });
      const call = { manifest: { ...manifest, timeoutMs }, path: enabled.path, digest: enabled.digest, args, stdin };
      const answer = read(await parts().sandbox.run(call, end));
      ({ result } = answer);
      return answer.value;
    } catch (error) {
      // The reason of the signal is more precise than the sandbox's error.
      throw end.aborted && end.reason instanceof PluginNotRun ? end.reason : error;
    } finally {
      ended.abort();
      onRun({ plugin: manifest.name, result });
    }
  };
}

/** Enough for a busy host to make a sandbox; nothing of the plugin runs in it. */
const trialMs = 30_000;

/**
 * Makes the sandbox of a plugin, and checks in it whether the plugin's program is executable.
 * @throws PluginNotRun when the sandbox cannot be made or the program cannot be run.
 */
export async function tryStart(run: PluginSandbox["run"], call: PluginCall, signal: AbortSignal): Promise<void> {
  const { manifest } = call;
  const [program] = manifest.command;
  const trial = { ...manifest, command: ["/usr/bin/test", "-x", program] as const, timeoutMs: trialMs };
  const end: PluginEnd = await run({ ...call, manifest: trial, args: [], stdin: undefined }, signal);
  if (end.exitCode === 0) return;
  const reported = end.stderr.trim();
  throw new PluginNotRun(
    `${program} cannot be run in its sandbox on this host (exit code ${end.exitCode}${reported === "" ? "" : `: ${reported}`})`,
  );
}
