import { UnitProtected, UnitsUnavailable } from "#domain/ports/units.ts";
import { calls } from "./calls.ts";
import { inspectUnit, type Systemd } from "./inspect.ts";
import { lostResult } from "./jobs.ts";
import { text, type UnitRun } from "./parse.ts";

const jobWaitMs = 25_000;
const jobPollMs = 100;

/** The unit under its own name, for a restart: what the policy has judged is then what is restarted. @throws UnitProtected. */
async function permitted(systemd: Systemd, name: string): Promise<{ readonly name: string; readonly run: UnitRun }> {
  const { unit, run } = await inspectUnit(systemd, name);
  if (unit.refusal !== undefined) throw new UnitProtected(unit.refusal);
  return { name: unit.name, run };
}

/**
 * How a restart ended whose result was lost with the bus. The unit shows it once no job is left.
 * @param before the run that the restart was to end.
 */
async function resultByUnit(systemd: Systemd, name: string, before: UnitRun, signal: AbortSignal): Promise<string> {
  const { clock } = systemd;
  const untilMs = clock.monotonicMs() + jobWaitMs;
  await systemd.untilReady(jobWaitMs, signal);
  for (;;) {
    const { unit, run } = await inspectUnit(systemd, name);
    if (!run.hasJob) {
      if (unit.activeState === "failed") return "failed";
      // A unit that has ended may be unloaded, and shows nothing then.
      return run.invocation === "" || run.invocation === before.invocation ? "unknown" : "done";
    }
    if (signal.aborted || clock.monotonicMs() >= untilMs) return "running";
    await clock.sleep(jobPollMs, signal);
  }
}

export async function restartUnit(systemd: Systemd, given: string, signal: AbortSignal): Promise<string> {
  const { clock, jobs } = systemd;
  const { name, run } = await permitted(systemd, given);
  const over = new AbortController();
  const stopWaiting = AbortSignal.any([signal, over.signal]);
  const down = systemd.lost();
  try {
    const job = systemd
      // In an object, since a promise as the reply would keep the call open until the job is over.
      .call(calls.restartUnit(name), ([path]) => ({ result: jobs.result(text(path)) }))
      .then(({ result }) => result)
      .catch((error: unknown) => {
        // When the reply is lost with the bus, so is the job's result.
        if (systemd.isUp()) throw error;
        return lostResult;
      });
    const result = await Promise.race([job, down.promise, clock.sleep(jobWaitMs, stopWaiting)]);
    if (signal.aborted) throw new UnitsUnavailable("cancelled; the restart itself goes on", true);
    if (result !== lostResult) return result ?? "running";
    return await resultByUnit(systemd, name, run, stopWaiting);
  } finally {
    down.stop();
    over.abort();
  }
}

export async function restartDetached(systemd: Systemd, given: string): Promise<void> {
  const { name } = await permitted(systemd, given);
  await systemd.call(calls.restartUnit(name), () => undefined);
}

export async function startUnit(systemd: Systemd, name: string): Promise<string> {
  await systemd.untilReady();
  const down = systemd.lost();
  try {
    const job = systemd
      .call(calls.startUnit(name), ([path]) => ({ result: systemd.jobs.result(text(path)) }))
      .then(({ result }) => result);
    return await Promise.race([job, down.promise]);
  } finally {
    down.stop();
  }
}
