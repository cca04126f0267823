import type { Scene } from "../scene.ts";

/** Three lines a second, one of five orders with a warning. */
const shop = `#!/bin/sh
number=1000
while :; do
  number=$((number + 1))
  echo "GET /orders/$number 200 $((number % 47 + 8)) ms"
  [ $((number % 15)) -eq 0 ] && echo "<4>slow query: SELECT … FROM orders took $((number % 900 + 1100)) ms"
  sleep 0.4
done
`;

/** Quiet work, with a burst of errors each minute that stops by itself. */
const payments = `#!/bin/sh
burst() {
  for attempt in 1 2 3 4 5 6 7 8; do
    echo "<3>gateway 203.0.113.7: timed out after 3 s (attempt $attempt of 8)"
    sleep 0.2
  done
  echo "<4>payments are late; 8 in the queue"
}
burst
while :; do
  for second in 1 2 3 4 5 6; do
    sleep 8
    echo "queue empty, $((second * 7)) payments settled"
  done
  burst
done
`;

const unit = (what: string, program: string): string => `[Unit]
Description=${what}
[Service]
ExecStart=${program}
LogRateLimitIntervalSec=10s
LogRateLimitBurst=200
[Install]
WantedBy=multi-user.target
`;

/** Two services that write on and on, one of them with bursts of errors. */
export const busyJournal: Scene = {
  says: "demo-shop.service and demo-payments.service write to the journal, with a burst of errors each minute",
  async prepare({ host, shell }) {
    for (const [name, program] of Object.entries({ "demo-shop": shop, "demo-payments": payments })) {
      await host.writeFile(`/usr/local/bin/${name}`, program, 0o755);
      const what = name === "demo-shop" ? "Shop of the demo" : "Payments of the demo";
      await host.writeFile(`/etc/systemd/system/${name}.service`, unit(what, `/usr/local/bin/${name}`));
    }
    await shell("systemctl daemon-reload && systemctl enable --quiet --now demo-shop demo-payments");
  },
};
