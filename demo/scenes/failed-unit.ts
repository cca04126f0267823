import type { Scene } from "../scene.ts";

const program = `#!/bin/sh
input=/srv/report/input.csv
echo "making the report of $(date +%F)"
if [ ! -r "$input" ]; then
  echo "<3>cannot read $input: No such file or directory (the import of 02:00 has not written it)"
  exit 1
fi
echo "the report has $(wc -l < "$input") lines"
`;

const unit = `[Unit]
Description=Nightly report
[Service]
Type=oneshot
ExecStart=/usr/local/bin/nightly-report
`;

/** A unit that fails for a reason that its journal shows, and that can be fixed. */
export const failedUnit: Scene = {
  says: "nightly-report.service has failed; its journal says why, and a file fixes it",
  async prepare({ host, shell }) {
    await host.writeFile("/usr/local/bin/nightly-report", program, 0o755);
    await host.writeFile("/etc/systemd/system/nightly-report.service", unit);
    await shell("mkdir -p /srv/report && systemctl daemon-reload && ! systemctl start nightly-report.service 2>&1");
  },
};
