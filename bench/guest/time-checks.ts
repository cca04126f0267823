import { readFileSync } from "node:fs";
import { systemClock } from "#adapters/clock/index.ts";
import { createHostChecks } from "#app/checks.ts";
import { openHost } from "#app/host.ts";
import { untraced } from "#app/tracing/tracing.ts";
import { loadConfig } from "#config/load.ts";
import { runCheckOnce } from "#domain/health/check-run.ts";

/** Runs inside the test host: `time-checks.ts COUNT`. Prints what each check takes, as JSON. */
const count = Number(process.argv[2] ?? "20");

/** Processor milliseconds of this process and of the programs that it has started and waited for: proc_pid_stat(5), fields 14 to 17. */
function cpuMs(): number {
  const text = readFileSync("/proc/self/stat", "latin1");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const childTicks = Number(fields[13]) + Number(fields[14]);
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + childTicks * 10;
}

const config = loadConfig({ file: undefined, environment: {}, isRoot: true, builtInCheckIds: [] });
const host = openHost(config.settings, untraced);
const { checks, plan } = createHostChecks({ config, host, exec: untraced.exec });
const { signal } = new AbortController();
const costs: Record<string, { readonly status: string; readonly cpuMs: number }> = {};
for (const { id } of checks) {
  const run = () => runCheckOnce({ checks, settings: plan, clock: systemClock }, id, signal);
  // The first one loads what the others find loaded.
  const first = await run();
  const before = cpuMs();
  for (let at = 0; at < count; at += 1) await run();
  costs[id] = { status: first?.status ?? "", cpuMs: (cpuMs() - before) / count };
}
process.stdout.write(JSON.stringify(costs));
host.dispose();
process.exit();
