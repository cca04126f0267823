import { missingRequirements } from "../../test/host/requirements.ts";
import { compare, type Row, type Subject } from "../row.ts";
import { withUnitHost } from "../unit-host.ts";

const requests = 200;
const runs = 20;
const loadedUnits = 150;
const subject: Subject = {
  work: "`GET /system/services/{name}`, another unit each time",
  peer: "`systemctl status NAME`",
  unit: "ms",
  judged: "peer/ours",
  goal: { is: "at least", value: 5 },
};

export const unit: Row = {
  name: "unit",
  summary: "latency of all about one service, with the end of its log, against systemctl status, in the test host",
  async measure(options) {
    const missing = missingRequirements();
    if (missing.length > 0) return [{ ...subject, skipped: `the test host needs ${missing.join("; ")}` }];
    return withUnitHost(options.say, async (host) => {
      await host.grow(loadedUnits);
      const ours = async (): Promise<number> => (await host.timeServiceUnits(requests)).medianMs;
      const peer = async (): Promise<number> => (await host.timeStatus(runs)).medianMs;
      const notes = () => [
        "both with the newest 20 lines of its log; ours also with the text of its files, all dependencies, limits and the last runs",
      ];
      return [await compare(subject, { ours, peer, notes }, options)];
    });
  },
};
