import { type PluginCall, type PluginEnd, PluginNotRun, type PluginSandbox } from "#domain/ports/plugins.ts";

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
  const told = end.stderr.trim();
  throw new PluginNotRun(
    `${program} cannot be run in its sandbox on this host (exit code ${end.exitCode}${told === "" ? "" : `: ${told}`})`,
  );
}
