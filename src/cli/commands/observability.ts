import { resolve } from "node:path";
import type { Command } from "../core/command.ts";
import type { StackHost } from "../core/local.ts";
import type { CommandPorts } from "../core/ports.ts";
import { oneLine, printJson } from "../output/output.ts";
import { makeStack } from "./observability-files.ts";

/** What the files cannot hold: secrets, and what only root may do. */
function nextSteps(folder: string, { mail }: StackHost): readonly string[] {
  const secret = (path: string): string => `install -m 640 -g prometheus /dev/null ${folder}/${path}`;
  return [
    secret("prometheus/steward.key"),
    `steward keys create prometheus --scope metrics:read > ${folder}/prometheus/steward.key`,
    secret("alertmanager/paging-url"),
    `# put the address of the webhook that wakes somebody into ${folder}/alertmanager/paging-url`,
    ...(mail?.user === undefined
      ? []
      : [
          secret("alertmanager/smtp-password"),
          `# put the password at the mail server into ${folder}/alertmanager/smtp-password`,
        ]),
    ...(mail === undefined
      ? [`# put the mail server and whom to tell into ${folder}/alertmanager/alertmanager.yml`]
      : []),
    `cp -r ${folder}/systemd/. /etc/systemd/system/`,
    "systemctl daemon-reload",
    "systemctl restart prometheus prometheus-alertmanager prometheus-node-exporter",
  ];
}

export function addObservabilityCommands(
  program: Command,
  ports: CommandPorts,
  givenUrl: (command: Command) => string | undefined,
): void {
  const { io, local } = ports;
  const init = program
    .command("observability")
    .description("files for Prometheus, Alertmanager, Grafana and what ships logs")
    .command("init")
    .description("write the files of the observability stack, filled in for this host")
    .argument("<dir>", "folder that they are written into")
    .json("print what was written as JSON")
    .notes(`They are those of deploy/observability with the address, the certificate and the mail server of the settings.
No secret is written, the service is not asked, and nothing that is there is written over.`);
  init.action(async (dir: string, options: { json?: boolean }) => {
    const host = await local.stackHost(givenUrl(init));
    const { path, files } = makeStack(resolve(dir), host);
    const steps = nextSteps(path, host);
    if (options.json) return printJson(io, { path, files, next_steps: steps });
    io.out(`${path}: ${files.length} files for ${oneLine(host.name)} with the service at ${oneLine(host.url)}\n`);
    io.out(`\nWhat is left to do, as root, with Debian's packages:\n${steps.map((step) => `  ${step}\n`).join("")}`);
  });
}
