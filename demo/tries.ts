import type { DemoCommands } from "./commands.ts";

/** Something to try: a line that works when it is pasted into a shell of this machine. */
export interface Try {
  readonly title: string;
  readonly line: string;
  /** What it ends with: 0 unless it finds trouble, which ends with 1. */
  readonly exitCode: 0 | 1;
}

interface Story {
  readonly commands: DemoCommands;
  readonly url: string;
  /** The snapshot of the host as it was when all was set up. */
  readonly firstSnapshot: string;
}

/** What to try, in an order that makes a story: look, understand, fix, change, roll back. */
export function triesFor({ commands, url, firstSnapshot }: Story): readonly Try[] {
  const { shell, steward, curl: curlFile } = commands;
  const curl = `curl -K ${curlFile}`;
  const fine = (title: string, line: string): Try => ({ title, line, exitCode: 0 });
  const trouble = (title: string, line: string): Try => ({ title, line, exitCode: 1 });
  return [
    trouble("How is the host?", `${steward} status`),
    trouble("What is wrong with it?", `${steward} doctor`),
    fine("Why did that unit fail?", `${steward} logs -u nightly-report -n 5`),
    fine("What does a language model make of it?", `${steward} explain systemd_failed`),
    fine("What exactly was sent to it?", `${steward} explain systemd_failed --preview`),
    fine("Fix the cause, with a shell on the host", `${shell} sh -c 'echo order,amount > /srv/report/input.csv'`),
    fine("Start it again, without one", `${steward} services restart nightly-report`),
    fine("The errors of all services", `${steward} logs -p err -n 10`),
    fine("Ask about a service with its journal", `${steward} chat --attach-logs demo-payments what is wrong here`),
    fine("Make space on the full disk; the plan comes first", `${steward} doctor --check disk_space --fix --yes`),
    fine("What can be updated?", `${steward} updates check`),
    fine("What would an update do?", `${steward} updates apply --dry-run`),
    fine("The security update, with a snapshot before it", `${steward} updates apply --security --yes`),
    fine("The snapshots", `${steward} snapshots`),
    fine("What has changed since the demo began", `${steward} snapshots diff ${firstSnapshot}`),
    fine("An alert that is silenced for two hours", `${steward} alerts silences`),
    fine("Plugins, and what they may do", `${steward} plugins`),
    fine("A key that can do one thing", `${steward} keys create deploy --scope services:restart:demo-shop.service`),
    fine("Who has keys", `${steward} keys list`),
    fine("The same over HTTP", `${curl} '${url}/api/v1/system/logs?unit=demo-payments&priority=3&limit=2'`),
    fine("All that can be asked, as an OpenAPI document", `${curl} --output /dev/null ${url}/api/v1/openapi.json`),
    fine("Many hosts at once; here there is one", `${steward} --all updates check`),
    fine("How confined is the service?", `${shell} systemd-analyze security --no-pager steward.service`),
    fine("Go back to how the demo began", `${steward} rollback ${firstSnapshot} --yes`),
    fine(
      "A reboot; the service answers again afterwards",
      `${shell} systemctl reboot; sleep 5; ${curl} --retry 60 --retry-all-errors --retry-delay 1 ${url}/livez`,
    ),
    fine("The state is as before: the update is available again", `${steward} updates check`),
  ];
}
