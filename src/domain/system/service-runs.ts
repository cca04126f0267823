import type { LogEntry } from "#contract/log-entry.ts";
import type { ServiceRun } from "#contract/units.ts";

interface OpenRun {
  startedAt: string | null;
  endedAt: string | null;
  result: string;
  exit: string;
}

const mostRuns = 10;

const millis = (timestamp: string | null): number => (timestamp === null ? Number.NaN : Date.parse(timestamp));

function toRun({ startedAt, endedAt, result, exit }: OpenRun): ServiceRun {
  const durationMs = millis(endedAt) - millis(startedAt);
  return {
    started_at: startedAt,
    ended_at: endedAt,
    duration_ms: Number.isNaN(durationMs) ? null : Math.max(0, durationMs),
    result,
    exit,
  };
}

type Step =
  | { readonly is: "starting" | "started" | "finished" | "stopped" | "deactivated" }
  | { readonly is: "exited"; readonly how: string }
  | { readonly is: "failed"; readonly result: string };

const steps: Readonly<Record<string, Step>> = {
  Starting: { is: "starting" },
  Started: { is: "started" },
  Finished: { is: "finished" },
  Stopped: { is: "stopped" },
};

/** What a message of systemd says of a unit; its messages are not translated. */
function stepOf(message: string, unit: string): Step | undefined {
  if (message.startsWith(`${unit}: `)) {
    const said = message.slice(unit.length + 2);
    const exited = /^Main process exited, code=(?:exited|killed|dumped), (status=\S+)$/.exec(said);
    if (exited?.[1] !== undefined) return { is: "exited", how: exited[1] };
    const failed = /^Failed with result '([a-z-]+)'\.$/.exec(said);
    if (failed?.[1] !== undefined) return { is: "failed", result: failed[1] };
    return /^(?:Deactivated successfully|Succeeded)\.$/.test(said) ? { is: "deactivated" } : undefined;
  }
  const word = /^(Starting|Started|Finished|Stopped) /.exec(message)?.[1];
  return word === undefined ? undefined : steps[word];
}

const started = (startedAt: string | null): OpenRun => ({ startedAt, endedAt: null, result: "running", exit: "" });

/** A run that another one follows without a word of its end: the host may have lost power. */
function leave(open: OpenRun | undefined): void {
  if (open !== undefined && open.endedAt === null) open.result = "unknown";
}

/** systemd itself: nobody else writes as process 1. */
const isOfSystemd = ({ pid, identifier }: Pick<LogEntry, "pid" | "identifier">): boolean =>
  pid === 1 && identifier === "systemd";

interface History {
  readonly runs: OpenRun[];
  open: OpenRun | undefined;
  boot: string;
}

function take(history: History, step: Step, at: string): void {
  const { runs } = history;
  const begin = (startedAt: string | null): OpenRun => {
    const run = started(startedAt);
    runs.push(run);
    history.open = run;
    return run;
  };
  const end = (result: string): void => {
    const run = history.open ?? begin(null);
    run.endedAt = at;
    run.result = result;
    history.open = undefined;
  };
  switch (step.is) {
    case "starting":
      leave(history.open);
      begin(at);
      return;
    case "started":
      if (history.open === undefined) begin(at);
      return;
    case "exited":
      (history.open ?? begin(null)).exit = step.how;
      return;
    case "failed":
      end(step.result);
      return;
    case "deactivated":
      end("success");
      return;
    case "stopped":
      if (history.open !== undefined) end("success");
      return;
    case "finished":
      // A service that remains after its end; of others systemd has said that it is inactive.
      if (history.open !== undefined) history.open.result = "success";
  }
}

/**
 * The runs of a unit by what systemd wrote of it, newest first.
 * @param entries of its log, oldest first; the oldest run may lack its start.
 */
export function runsOf(entries: readonly LogEntry[], unit: string): readonly ServiceRun[] {
  const history: History = { runs: [], open: undefined, boot: "" };
  for (const entry of entries.filter(isOfSystemd)) {
    const step = stepOf(entry.message, unit);
    if (step === undefined) continue;
    if (entry.boot_id !== history.boot) {
      leave(history.open);
      history.open = undefined;
      history.boot = entry.boot_id;
    }
    take(history, step, entry.timestamp);
  }
  return history.runs.slice(-mostRuns).toReversed().map(toRun);
}
