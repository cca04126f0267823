import type { Clock } from "#kernel/clock.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, type CheckSettings, createIgnore, type Outcome, skip } from "../check.ts";
import { type Container, type Engine, type EngineHost, enginesOn, readContainers } from "../container-engines.ts";
import { combineFindings, type Finding, passing } from "../grading.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** So many restarts, the last of them so recently, are a loop: Podman does not wait between them. */
const loop = { restarts: 3, withinMs: 10 * minuteMs };
const mostListed = 50;
/** What SIGTERM and SIGKILL leave: somebody has stopped it. Such a container is not started again by its policy. */
const stoppedCodes: readonly number[] = [137, 143];

const fail = (problem: string): Finding => ({ status: "fail", problem });
const warn = (problem: string): Finding => ({ status: "warn", problem });

function findingOf({ engine, name, state, isUnhealthy, inspected }: Container, now: number): Finding {
  const logs = `${engine} logs ${name}`;
  if (state === "restarting") {
    const code = typeof inspected?.exitCode === "number" ? `exit code ${inspected.exitCode}; ` : "";
    return fail(`container ${name} ends and is restarted over and over (${code}${logs})`);
  }
  if (isUnhealthy) return fail(`container ${name} is unhealthy by its own health check (${engine} inspect ${name})`);
  if (state === "dead") return fail(`container ${name} is dead: ${engine} could not remove it (${engine} rm ${name})`);
  if (inspected === undefined) return passing;
  const { exitCode, isOomKilled, error, startedAt, finishedAt, restartPolicy, mostRestarts } = inspected;
  const restarts = inspected.restarts ?? 0;
  if (state === "running") {
    const isLooping = restarts >= loop.restarts && now - (startedAt ?? 0) < loop.withinMs;
    return isLooping
      ? warn(`container ${name} was restarted ${restarts} times, the last time just now (${logs})`)
      : passing;
  }
  const isToRun = restartPolicy !== "" && restartPolicy !== "no";
  if (isOomKilled) {
    const killed = `container ${name} was killed by the OOM killer (raise its memory limit)`;
    if (isToRun) return fail(killed);
    return now - (finishedAt ?? 0) < dayMs ? warn(killed) : passing;
  }
  if (!isToRun) return passing;
  if (error !== "") return fail(`container ${name} cannot be started: ${error}`);
  const hasEnded = state === "exited" || state === "stopped";
  if (!hasEnded || exitCode === null || exitCode === 0 || stoppedCodes.includes(exitCode)) return passing;
  // What ends by itself is started again by the engine, until it gives up: everything else was stopped by somebody.
  if (mostRestarts === 0 || restarts < mostRestarts) return passing;
  return fail(
    `container ${name} ended with exit code ${exitCode}, and is given up after ${counted(restarts, "restart")} (${logs})`,
  );
}

/** @param now epoch milliseconds. */
export function judgeContainers(
  given: readonly Container[],
  engines: readonly Pick<Engine, "engine">[],
  { ignore }: Pick<CheckSettings, "ignore">,
  now: number,
): Outcome {
  const isIgnored = createIgnore(ignore);
  const all = given.filter(({ name }) => !isIgnored(name));
  const judged = all.map((container) => ({ container, ...findingOf(container, now) }));
  const troubled = judged.filter(({ status }) => status !== "pass");
  const running = all.filter(({ state }) => state === "running").length;
  const unread = all.flatMap(({ name, unread: reason }) => (reason === undefined ? [] : [{ name, reason }]));
  const notRead =
    unread.length === 0 ? "" : `, not read: ${listNames(unread.map(({ name, reason }) => `${name} (${reason})`))}`;
  const healthy = `${counted(running, "container")} of ${all.length} running, none in trouble${notRead}`;
  return combineFindings(judged, healthy, {
    engines: engines.map(({ engine }) => engine),
    total: all.length,
    running,
    containers: troubled.slice(0, mostListed).map(({ status, container: { engine, name, state, inspected } }) => ({
      engine,
      name,
      status,
      state,
      exit_code: inspected?.exitCode ?? null,
      restarts: inspected?.restarts ?? null,
    })),
    ...(unread.length > 0 && { unread: unread.slice(0, mostListed) }),
  });
}

export const containersCheck = (ports: EngineHost & { readonly clock: Pick<Clock, "now"> }): BuiltInCheck => ({
  id: "containers",
  name: "Containers",
  category: "services",
  severity: "high",
  about:
    "Containers of Docker and of root's Podman: fails for one that is restarted over and over, is unhealthy by its " +
    "own health check, was killed by the OOM killer or cannot be started although its restart policy has it run, " +
    "or was given up after as many restarts as its policy allows. Warns for one that was restarted three times, " +
    "the last time within ten minutes, and, for a day, for one without a policy that the OOM killer has ended. One " +
    "that somebody has stopped is not a fault, and of one that could not be started Podman keeps no word. Containers " +
    "of other users are not seen. `ignore` takes names of containers, and patterns.",
  meaning: "A container does not work: it crashes, is unhealthy, or was killed by the OOM killer.",
  remedy: "Read its log (docker logs NAME, podman logs NAME), fix the cause, then start it.",
  intervalMs: 5 * 60_000,
  absent: async () =>
    (await enginesOn(ports)).length > 0
      ? undefined
      : skip("Neither Docker runs on this host nor is the socket of Podman there (podman.socket)"),
  async run(settings, signal) {
    const engines = await enginesOn(ports);
    return judgeContainers(await readContainers(ports, engines, signal), engines, settings, ports.clock.now());
  },
});
