import type { Handlers, Plan } from "#contract/operation.ts";
import type { PluginChange, plugins as rows } from "#contract/plugins.ts";
import { DomainError } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import { type PluginEnd, PluginNotRun } from "#domain/ports/plugins.ts";
import type { Clock } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import type { PluginStep, Plugins } from "./plugins.ts";

/** Concurrent runs of commands: each takes a process with memory. */
const maxConcurrentRuns = 8;

const plan = (steps: readonly string[], reason?: string, digested?: readonly string[]): Plan =>
  createPlan(steps, defined({ reason }), defined({ digested }));

const toChange = ({ plugin, success, message }: PluginStep): PluginChange => ({ ...plugin, success, message });

/** The plan of a step; empty where it is impossible or done already. A version says little of what a plugin is. */
function toPlan({ success, message, plugin, digest }: PluginStep, isThere: boolean): Plan {
  if (!success || isThere) return plan([], message);
  return plan([message], undefined, digest === undefined ? undefined : [message, plugin.path, digest]);
}

/** Words quoted for people. */
const words = (argv: readonly string[]): string => argv.map((word) => JSON.stringify(word)).join(" ");

function notRun(name: string, error: unknown): never {
  if (!(error instanceof PluginNotRun)) throw error;
  const details = { reason: error.message, retryable: false, ...error.output };
  throw new DomainError("UNAVAILABLE", `cannot run ${name}: ${error.message}`, details, error);
}

export function pluginHandlers(ports: {
  readonly plugins: Plugins;
  readonly clock: Pick<Clock, "monotonicMs">;
}): Handlers<typeof rows> {
  const { plugins, clock } = ports;
  let running = 0;

  const inTurn = async (name: string, run: () => Promise<PluginEnd>): Promise<PluginEnd> => {
    if (running >= maxConcurrentRuns) {
      const message = `cannot run ${name}: ${running} plugins run already (try again when one has ended)`;
      throw new DomainError("UNAVAILABLE", message, { reason: "too many run already", retryable: true });
    }
    running += 1;
    try {
      return await run();
    } finally {
      running -= 1;
    }
  };

  return {
    async listPlugins() {
      return { plugins: [...(await plugins.list())] };
    },
    async getPlugin({ params: { name } }) {
      const plugin = (await plugins.list()).find((each) => each.name === name);
      if (plugin !== undefined) return plugin;
      throw new DomainError("NOT_FOUND", `cannot find the plugin ${name}: no plugin directory has one`, { name });
    },
    async enablePlugin({ params: { name }, query, body }, { touched }) {
      const isDryRun = query.dry_run ?? false;
      const step = await plugins.enable(name, { isConfirmed: body.confirm ?? false, isDryRun });
      if (isDryRun) return toPlan(step, step.plugin.enabled && step.plugin.fault === null);
      touched({ ...(step.digest !== undefined && { digest: step.digest }), path: step.plugin.path });
      return toChange(step);
    },
    async disablePlugin({ params: { name }, query }) {
      const isDryRun = query.dry_run ?? false;
      const step = await plugins.disable(name, { isDryRun });
      return isDryRun ? toPlan(step, !step.plugin.enabled) : toChange(step);
    },
    async runPlugin({ params: { name }, query, body }, context) {
      const { args = [], stdin } = body;
      const { manifest, run } = await plugins.command(name);
      if (query.dry_run ?? false) return plan([`run ${words([...manifest.command, ...args])} in its sandbox`]);
      const startedAtMs = clock.monotonicMs();
      const input = { args, ...(stdin !== undefined && { stdin }) };
      const end = await inTurn(name, () => run(input, context.signal())).catch((error: unknown) => notRun(name, error));
      return {
        exit_code: end.exitCode,
        stdout: end.stdout,
        stderr: end.stderr,
        duration_ms: Math.round(clock.monotonicMs() - startedAtMs),
        truncated: end.isTruncated,
      };
    },
  };
}
