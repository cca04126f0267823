import { type PluginCall, type PluginEnd, PluginNotRun, type PluginSandbox } from "#domain/ports/plugins.ts";

/** Long enough for a busy host to make a sandbox; nothing of the plugin's own runs in it. */
const trialMs = 30_000;

/**
 * Makes the sandbox of a plugin for a program of the host, which looks whether the plugin's own could be run there.
 * @param run runs a plugin in its sandbox.
 * @throws PluginNotRun when the sandbox cannot be made on this host, or the program cannot be run in it.
 */
export async function tryStart(run: PluginSandbox["run"], call: PluginCall, signal: AbortSignal): Promise<void> {
  const { manifest } = call;
  const [program] = manifest.command;
  const trial = { ...manifest, command: ["/usr/bin/test", "-x", program] as const, timeoutMs: trialMs };
  const end: PluginEnd = await run({ ...call, manifest: trial, args: [], stdin: undefined }, signal);
  if (end.exitCode === 0) return;
  const told = end.stderr.trim();
  throw new PluginNotRun(
    `${program} cannot be run in its sandbox on this host (exit code ${end.exitCode}${told === "" ? "" : `: ${told}`})`,
  );
}
