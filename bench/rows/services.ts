import { serviceListLimit } from "#contract/limits.ts";
import { missingRequirements } from "../../test/host/requirements.ts";
import { summarise } from "../harness.ts";
import { compare, type Line, type MeasuredLine, type Row, type RowOptions, type Subject, toLine } from "../row.ts";
import { type UnitHost, withUnitHost } from "../unit-host.ts";

const requests = 200;
const runs = 20;
const peer = "`systemctl list-units --all --type=service -o json`";
/** Loaded service units; Debian brings more than 60, and 1000 is what one answer holds. */
const sizes = [75, 150, 400, 1000] as const;
const comparedSize = 150;
/** Growth is read from four sizes, each of which takes a few rounds. */
const mostGrowthRounds = 3;

const subjectOf = (units: number): Subject => ({
  work: `\`GET /system/services\`, ${units} units`,
  peer,
  unit: "ms",
  judged: "peer/ours",
  ...(units === comparedSize && { goal: { is: "at least", value: 10 } }),
});

async function compareListing(host: UnitHost, units: number, options: RowOptions): Promise<MeasuredLine> {
  const rounds = units === comparedSize ? options.rounds : Math.min(options.rounds, mostGrowthRounds);
  let [listed, itsListed] = [0, 0];
  const ours = async (): Promise<number> => {
    const timed = await host.timeService(requests);
    listed = timed.listed;
    return timed.medianMs;
  };
  const its = async (): Promise<number> => {
    const timed = await host.timeSystemctl(runs);
    itsListed = timed.listed;
    return timed.medianMs;
  };
  const notes = (): string[] => {
    // A mirror that lags behind would be fast and wrong.
    // Units of the host's own may come after it was made to have so many; an answer holds no more than its limit.
    if (listed < Math.min(itsListed, serviceListLimit.maximum))
      throw new Error(`cannot compare: ours lists ${listed} units, systemctl ${itsListed}`);
    return [`ours lists ${listed} units, with those whose files are installed only; systemctl ${itsListed}`];
  };
  return compare(subjectOf(units), { ours, peer: its, notes }, { ...options, rounds });
}

/** How much more time the largest listing takes than the smallest, beside how much more it lists. */
function describeGrowth(measured: ReadonlyMap<number, MeasuredLine>): readonly Line[] {
  const [least, most] = [sizes[0], sizes[sizes.length - 1] ?? 0];
  const [small, large] = [measured.get(least), measured.get(most)];
  if (small === undefined || large === undefined) return [];
  const times = (side: "ours" | "peer"): number => large.summary[side] / small.summary[side];
  return [
    toLine(
      {
        work: `\`GET /system/services\`, time for ${most} units over time for ${least}`,
        peer,
        unit: "times",
        judged: "ours",
        goal: { is: "at most", value: most / least },
      },
      summarise([{ ours: times("ours"), peer: times("peer") }], "peer/ours"),
    ),
  ];
}

export const services: Row = {
  name: "services",
  summary: "latency of the service listing against systemctl as a process, in the test host, 75 to 1000 units",
  async measure(options) {
    const missing = missingRequirements();
    if (missing.length > 0) {
      return [{ ...subjectOf(comparedSize), skipped: `the test host needs ${missing.join("; ")}` }];
    }
    return withUnitHost(options.say, async (host) => {
      const measured = new Map<number, MeasuredLine>();
      for (const units of sizes) {
        await host.grow(units);
        measured.set(units, await compareListing(host, units, options));
      }
      return [...measured.values(), ...describeGrowth(measured)];
    });
  },
};
