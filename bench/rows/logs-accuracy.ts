import { bootHost } from "../../test/host/host.ts";
import { missingRequirements } from "../../test/host/requirements.ts";
import { summarise } from "../harness.ts";
import { whyNoLogRows } from "../log-queries.ts";
import { type Line, type Row, type RowOptions, type Subject, toLine } from "../row.ts";
import { templateAccuracy } from "../template-accuracy.ts";

const subject: Subject = {
  work: "templates by words alone: entries grouped with just those of their place in the source (grouping accuracy), on the test host's journal",
  peer: "MESSAGE_ID, else CODE_FILE:CODE_LINE",
  unit: "%",
  judged: "ours",
  goal: { is: "at least", value: 95 },
};

/** What a host does in a day, in a minute: services that come, go and fail, other settings, sessions, timers. */
const day = `
for round in $(seq 10); do
  systemctl reset-failed
  for unit in cron ssh systemd-logind dbus systemd-timedated systemd-hostnamed; do systemctl restart $unit; done
  systemctl stop cron; systemctl start cron; systemctl daemon-reload
  timedatectl set-timezone Europe/Berlin; timedatectl set-timezone Etc/UTC; hostnamectl set-hostname "host$round"
  systemd-run --unit="fails$round" false
  systemd-run --unit="killed$round" sleep 60; systemctl kill -s KILL "killed$round"
  systemd-run --on-active=1s true; systemctl start systemd-tmpfiles-clean; loginctl list-sessions
  su - nobody -s /bin/sh -c true
done
sleep 3`;

async function measureAccuracy({ say }: RowOptions): Promise<Line> {
  const host = await bootHost({ log: say });
  try {
    // Not all of these units are on each host.
    await host.exec(["sh", "-c", day], { allowFailure: true });
    const { stdout } = await host.exec(["journalctl", "--output=json", "--no-pager"]);
    const { entries, places, templates, grouped, kept, pure, missed } = templateAccuracy(stdout);
    const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
    return toLine(subject, summarise([{ ours: grouped * 100, peer: 100 }], "ours/peer"), [
      `${entries} entries of ${places} places in ${templates} templates; of the pairs of entries of one place ${percent(kept)} are in one template, of those of one template ${percent(pure)} are of one place`,
      ...missed.map((each) => `in several templates, or with others: ${each}`),
    ]);
  } finally {
    await host.stop();
  }
}

export const logsAccuracy: Row = {
  name: "logs-accuracy",
  summary:
    "whether templates by words alone are those of the places in the source, in the test host; only where it is named",
  isOnlyNamed: true,
  async measure(options) {
    const missing = [...missingRequirements(), whyNoLogRows() ?? []].flat();
    if (missing.length > 0) return [{ ...subject, skipped: missing.join("; ") }];
    return [await measureAccuracy(options)];
  },
};
