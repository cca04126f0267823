import type { Check } from "#domain/health/check.ts";
import { sandboxedCheck } from "#domain/health/plugin/sandboxed-check.ts";
import type { CheckPlan } from "#domain/health/runner.ts";
import type { PluginCheck } from "#domain/plugins/plugin-kind.ts";
import type { PluginRun } from "#domain/ports/plugins.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";

/** The check of a plugin; the timeout of the settings takes precedence over its manifest. */
export function toCheck(plugin: PluginCheck, plan: Pick<CheckPlan, "checks">): Check {
  const { id, title, severity, intervalMs, output } = plugin;
  const timeoutMs = plan.checks[id]?.timeoutMs ?? plugin.timeoutMs;
  return sandboxedCheck({
    id,
    name: title,
    severity,
    intervalMs,
    timeoutMs,
    output,
    async run(signal): Promise<PluginRun> {
      try {
        const { exitCode, stdout, stderr, isTruncated } = await plugin.run(timeoutMs, signal);
        return { isEnded: true, exitCode, stdout, stderr, isCut: isTruncated };
      } catch (error) {
        if (!(error instanceof PluginNotRun)) throw error;
        return { isEnded: false, reason: error.message, ...(error.output && { output: error.output }) };
      }
    },
  });
}
