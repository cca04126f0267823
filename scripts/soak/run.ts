import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "#client/index.ts";
import { type Address, type Load, startLoad, type Tally } from "./load.ts";
import { type InsideSample, type OutsideSample, outsideCommand, parseOutside } from "./samples.ts";
import type { Target } from "./target.ts";
import { type Bounds, type Findings, failuresOf, findingsOf } from "./verdict.ts";

export interface SoakOptions {
  readonly minutes: number;
  readonly readsPerSecond: number;
  readonly restarts: number;
  /** How often it is killed under load after that. */
  readonly kills: number;
  readonly say: (text: string) => void;
}

/** What came of a soak. */
export interface SoakResult {
  readonly findings: Findings;
  readonly tally: Tally;
  readonly reloads: number;
  readonly restarts: number;
  readonly kills: number;
  /** What it did not hold; empty when it held all. */
  readonly failures: readonly string[];
}

const sampleMs = 10_000;
const reloadMs = 20_000;
const changeMs = 2_000;
/** Caches fill and code is compiled until then. */
const warmUpShare = 0.25;
const longestWarmUpMs = 6 * 60_000;
const fillShare = 0.9;

/** Half an hour shows what a minute cannot: there only what is plainly lost with each call is seen. */
const boundsFor = (minutes: number): Bounds =>
  minutes >= 20
    ? { residentMibPerMinute: 0.5, heapMibPerMinute: 0.2, descriptors: 8, threads: 2 }
    : { residentMibPerMinute: 100, heapMibPerMinute: 30, descriptors: 25, threads: 6 };

/** Everything that was acknowledged is there, and nothing else was made of it; in words what is not so. */
export async function lost(address: () => Address, { keys, silences, plugin }: Tally): Promise<readonly string[]> {
  // What changes while it is inspected is neither as it was nor as it is.
  const keysBefore = new Map(keys);
  const silencesBefore = [...silences];
  const api = createClient(address());
  const known = new Map(
    (await api.listKeys()).keys.map(({ id, revoked_at: at }) => [id, at === null ? "there" : "revoked"]),
  );
  const open = new Set((await api.listSilences()).silences.map(({ id }) => id));
  const plugins = (await api.listPlugins()).plugins;
  return [
    ...[...keysBefore].flatMap(([id, state]) =>
      state === "unsure" || state !== keys.get(id) || known.get(id) === state
        ? []
        : [`key ${id} is ${known.get(id) ?? "gone"} and was ${state}`],
    ),
    ...silencesBefore.flatMap((id) => (open.has(id) ? [] : [`silence ${id} is gone`])),
    ...(plugin === "unsure" || plugins.some(({ name, enabled }) => name === "soak" && enabled === plugin)
      ? []
      : [`the plugin is not ${plugin ? "enabled" : "disabled"}`]),
  ];
}

/** Fewer say nothing of growth: on a busy machine each takes longer. */
const leastSamples = 5;

/** What was under way when the service ended is answered or has failed after so long. */
const settleMs = 2_000;
const longestTrafficMs = 600;

/** Ends it again and again in the middle of the load, and looks each time for what was acknowledged. */
async function endUnderLoad(target: Target, load: Load, options: SoakOptions): Promise<readonly string[]> {
  const missing: string[] = [];
  load.expectTrouble(true);
  const look = async (): Promise<void> => {
    missing.push(...(await lost(target.address, { ...load.tally, plugin: "unsure" })));
  };
  for (let count = 0; count < options.restarts; count += 1) {
    await target.restart();
    await look();
  }
  for (let count = 0; count < options.kills && missing.length === 0; count += 1) {
    await sleep(Math.random() * longestTrafficMs);
    await target.kill();
    await look();
    if ((count + 1) % 20 === 0) options.say(`killed ${count + 1} times`);
  }
  await sleep(settleMs);
  load.expectTrouble(false);
  return missing;
}

/** Puts a load on the target for the time, restarts it under load, and judges. The target is stopped by the caller. */
export async function soak(target: Target, options: SoakOptions): Promise<SoakResult> {
  const { minutes, readsPerSecond, restarts, kills, say } = options;
  const durationMs = minutes * 60_000;
  const warmUpMs = Math.min(durationMs * warmUpShare, longestWarmUpMs);
  const outside: OutsideSample[] = [];
  const { units, plugin } = target;
  const plan = { units, plugin, readsPerSecond, changeMs, fillMs: warmUpMs * fillShare, hasModel: true };
  const load = startLoad(target.address, plan);
  const startedAt = Date.now();
  const isWarm = ({ at }: { readonly at: number }): boolean => at - startedAt >= warmUpMs;
  let reloads = 0;
  let inside: readonly InsideSample[] = [];
  const troubles: string[] = [];
  try {
    const pid = await target.pid();
    let reloadAt = startedAt + reloadMs;
    while (Date.now() - startedAt < durationMs || outside.filter(isWarm).length < leastSamples) {
      await sleep(Math.min(sampleMs, durationMs / 8));
      const sample = parseOutside(await target.shell(outsideCommand(pid)), Date.now());
      outside.push(sample);
      if (Date.now() >= reloadAt) {
        await target.reload();
        reloads += 1;
        reloadAt += reloadMs;
      }
      const { residentBytes, descriptors, threads } = sample;
      const { faults, frames } = load.tally;
      say(
        `${((sample.at - startedAt) / 60_000).toFixed(1)} min: ${(residentBytes / 1024 ** 2).toFixed(1)} MiB, ${descriptors} descriptors, ${threads} threads, ${frames} frames, ${faults.length} failed`,
      );
    }
    if ((await target.pid()) !== pid) troubles.push("the process is another one: it ended by itself");
    inside = (await target.insideLines())
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as InsideSample);
    if (restarts + kills > 0) say(`ending it under load: ${restarts} times in order, ${kills} times at once`);
    troubles.push(...(await endUnderLoad(target, load, options)));
  } finally {
    await load.stop();
  }
  const findings = findingsOf(outside.filter(isWarm), inside.filter(isWarm));
  const errors = await target.errorLines();
  return {
    findings,
    tally: load.tally,
    reloads,
    restarts,
    kills,
    failures: [
      ...troubles,
      ...failuresOf(findings, load.tally, boundsFor(minutes)),
      ...(await lost(target.address, load.tally)),
      ...(errors.length > 0 ? [`${errors.length} errors in the log, the first: ${errors[0]}`] : []),
    ],
  };
}
