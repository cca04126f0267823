import { isGateable, parseScope, proposing, scopeNames, scopesBehind } from "#contract/scopes.ts";
import { didYouMean } from "#kernel/closest.ts";
import { defined } from "#kernel/values.ts";
import { cronFault } from "./cron.ts";
import type { Fault, FaultAt } from "./faults.ts";
import type { Settings } from "./settings.ts";
import { toMs } from "./text.ts";

type Windows = Pick<Settings, "windows">;
type Entry = NonNullable<Settings["windows"]>[number];

const longestMs = 366 * 24 * 60 * 60_000;
const longestJitterMs = 24 * 60 * 60_000;

export const windowSettings = ({ windows = [] }: Windows) =>
  windows.map(({ name, cron, duration, timezone, allow = [], deny = [], silence = false, jitter }) => ({
    name,
    cron,
    timezone,
    durationMs: toMs(duration),
    jitterMs: jitter === undefined ? 0 : toMs(jitter),
    times: { cron, ...defined({ timezone }) },
    allow,
    deny,
    isSilent: silence,
  }));

/** Why an entry of `allow` or `deny` cannot be used. */
export function scopeFault(entry: string): string | undefined {
  if (entry.startsWith(proposing)) return `must be the scope itself, without ${proposing}`;
  const behind = scopesBehind(entry);
  if (behind.some((scope) => parseScope(scope) === undefined)) {
    const name = /^[^:@]*(?::[^:@]*)?/.exec(entry)?.[0] ?? "";
    const isKnown = scopeNames.includes(name);
    return isKnown
      ? `must be a scope: ${name} cannot be narrowed like this`
      : `must be a scope such as updates:apply, not ${entry}${didYouMean(name, scopeNames)}`;
  }
  if (behind.some((scope) => isGateable(parseScope(scope)?.scope))) return undefined;
  return `cannot be restricted: ${entry} changes nothing (reads are always allowed)`;
}

function listFaults(entry: Entry, at: (path: readonly string[], message: string) => Fault): readonly Fault[] {
  return (["allow", "deny"] as const).flatMap((list) =>
    (entry[list] ?? []).flatMap((text, index) => {
      const fault = scopeFault(text);
      const isTwice = list === "deny" && entry.allow?.includes(text) === true;
      const message = fault ?? (isTwice ? "is also in allow: it would never be allowed" : undefined);
      return message === undefined ? [] : [at([list, String(index)], message)];
    }),
  );
}

export function windowFaults({ windows = [] }: Windows, faultAt: FaultAt): readonly Fault[] {
  const names = windows.map(({ name }) => name);
  return windows.flatMap((entry, index) => {
    const at = (path: readonly string[], message: string): Fault =>
      faultAt(["windows", String(index), ...path], message);
    const { name, cron, duration, timezone, allow = [], deny = [], silence = false, jitter } = entry;
    const fault = cronFault(cron, timezone);
    const isIdle = allow.length === 0 && deny.length === 0 && !silence;
    return [
      ...(names.indexOf(name) < index ? [at(["name"], `there is another window ${name}`)] : []),
      ...(fault === undefined ? [] : [at([fault[0]], fault[1])]),
      ...(toMs(duration) > longestMs ? [at(["duration"], "must be at most 366d")] : []),
      ...(toMs(duration) < 1000 ? [at(["duration"], "must be at least 1s")] : []),
      ...(jitter !== undefined && toMs(jitter) > longestJitterMs ? [at(["jitter"], "must be at most 24h")] : []),
      ...(isIdle ? [at([], "does nothing: give allow, deny or silence: true")] : []),
      ...listFaults(entry, at),
    ];
  });
}
