import { isAbsolute } from "node:path";
import type { Severity } from "#contract/checks.ts";
import { defined } from "#kernel/values.ts";
import type { Fault, FaultAt } from "./faults.ts";
import type { Settings } from "./settings.ts";
import { toMs } from "./text.ts";

export function checkPlan({ health = {} }: Pick<Settings, "health">) {
  const { interval, attempts: usual, checks = {} } = health;
  return {
    ...(interval !== undefined && { intervalMs: toMs(interval) }),
    ...defined({ attempts: usual }),
    checks: Object.fromEntries(
      Object.entries(checks).map(([id, { enabled, interval: own, timeout, attempts, warn, fail, ignore }]) => [
        id,
        {
          ...defined({ warn, fail, ignore, attempts, isEnabled: enabled }),
          ...(own !== undefined && { intervalMs: toMs(own) }),
          ...(timeout !== undefined && { timeoutMs: toMs(timeout) }),
        },
      ]),
    ),
  };
}

export function pluginSettings({ health = {} }: Pick<Settings, "health">): readonly {
  readonly id: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly name?: string;
  readonly severity?: Severity;
  readonly guardedBy?: "change";
  /** Whether root runs it, where the service has no rights. */
  readonly isRoots: boolean;
}[] {
  return Object.entries(health.checks ?? {}).flatMap(([id, { command = [], name, severity, user, guards_updates }]) => {
    const [program, ...args] = command;
    if (program === undefined) return [];
    const guardedBy = guards_updates === true ? ("change" as const) : undefined;
    return [{ id, command: [program, ...args], isRoots: user === "root", ...defined({ name, severity, guardedBy }) }];
  });
}

/** Settings of checks that are well-formed but contradictory. @param builtInCheckIds ids that plugins cannot have. */
export function checkFaults(
  { health = {} }: Pick<Settings, "health">,
  builtInCheckIds: readonly string[],
  faultAt: FaultAt,
): readonly Fault[] {
  return Object.entries(health.checks ?? {}).flatMap(([id, settings]) => {
    const at = (key: string, message: string): Fault => faultAt(["health", "checks", id, key], message);
    const given = (keys: readonly (keyof typeof settings)[], message: string): readonly Fault[] =>
      keys.filter((key) => settings[key] !== undefined).map((key) => at(key, message));
    const [program] = settings.command ?? [];
    if (program === undefined)
      return given(["name", "severity", "guards_updates", "user"], "needs command: only a plugin can be given one");
    return [
      ...(builtInCheckIds.includes(id) ? [at("command", `cannot be given: ${id} comes with the service`)] : []),
      ...(isAbsolute(program) ? [] : [at("command", `must begin with an absolute path, not ${program}`)]),
      ...given(["warn", "fail", "ignore"], "cannot be given for a plugin: put it into its command"),
    ];
  });
}
