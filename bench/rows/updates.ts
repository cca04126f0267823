import { missingRequirements } from "../../test/host/requirements.ts";
import { type PackageHost, type TimedUpdates, withPackageHost } from "../package-host.ts";
import { counts } from "../packages/lists.ts";
import { compare, compareAll, type MeasuredLine, type Row, type RowOptions, type Subject } from "../row.ts";

const requests = 100;
const runs = 10;
const fewRuns = 5;
/** Each round restarts the service. */
const mostFirstRounds = 5;

const listed = counts.packages.toLocaleString("en").replaceAll(",", " ");
const work = `\`GET /updates/check\`, ${listed} packages in the lists`;
const peer = "`apt list --upgradable`";

const again: Subject = { work, peer, unit: "ms", judged: "peer/ours", goal: { is: "at least", value: 40 } };
const first: Subject = {
  work: `${work}, the first of a service`,
  peer,
  unit: "ms",
  judged: "peer/ours",
  goal: { is: "at least", value: 1 },
};
const firstForBoth: Subject = { ...first, peer: `${peer}, without its caches` };

/** @throws Error unless the answer has just the updates that were made. */
function demandAll(side: string, { updates, security }: TimedUpdates): void {
  if (updates.length === counts.updates && security.length === counts.securityUpdates) return;
  throw new Error(`cannot compare: ${side} has ${updates.length} updates, ${security.length} of them for security`);
}

/** What both sides say, kept from the last time. Fast and wrong is not an answer. */
function createAnswers() {
  const last = new Map<"ours" | "peer", string>();
  return (side: "ours" | "peer", timed: TimedUpdates): number => {
    demandAll(side, timed);
    last.set(side, JSON.stringify([timed.updates, timed.security]));
    if (new Set(last.values()).size > 1) throw new Error("cannot compare: both sides have other updates");
    return timed.medianMs;
  };
}

async function compareAgain(host: PackageHost, options: RowOptions): Promise<MeasuredLine> {
  const checked = createAnswers();
  const ours = async () => checked("ours", await host.timeService(requests));
  const its = async () => checked("peer", await host.timeApt(runs, "kept"));
  const notes = () => [
    `both give the same ${counts.updates} updates with the same ${counts.securityUpdates} for security`,
    "apt has the caches that `apt-get update` has left",
  ];
  return compare(again, { ours, peer: its, notes }, options);
}

/** One measurement of ours stands beside both of apt's. */
async function compareFirst(host: PackageHost, options: RowOptions): Promise<readonly MeasuredLine[]> {
  const checked = createAnswers();
  const ours = async () => {
    await host.restartService();
    const ms = checked("ours", await host.timeService(1));
    return [ms, ms];
  };
  const its = async () => [
    checked("peer", await host.timeApt(fewRuns, "kept")),
    checked("peer", await host.timeApt(fewRuns, "none")),
  ];
  const notes = () => [
    "one request to a service that was just started and whose health checks have run",
    "ours never takes apt's caches, which may be behind what is installed; it has what apt answered to its health checks, or the service before",
  ];
  const rounds = Math.min(options.rounds, mostFirstRounds);
  return compareAll([first, firstForBoth], { ours, peer: its, notes }, { ...options, rounds });
}

export const updates: Row = {
  name: "updates",
  summary: "latency of the update check against apt list as a process, in the test host, and of the first one",
  async measure(options) {
    const missing = missingRequirements();
    if (missing.length > 0) {
      const skipped = `the test host needs ${missing.join("; ")}`;
      return [again, first, firstForBoth].map((subject) => ({ ...subject, skipped }));
    }
    return withPackageHost(options.say, async (host) => [
      await compareAgain(host, options),
      ...(await compareFirst(host, options)),
    ]);
  },
};
