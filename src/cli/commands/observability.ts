import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { counted } from "#kernel/text.ts";
import type { Command } from "../core/command.ts";
import type { CommandPorts, StackHost } from "../core/ports.ts";
import { oneLine, printJson } from "../output/output.ts";

type Edit = readonly [from: string, to: string];

const shipped = fileURLToPath(new URL("../../../deploy/observability", import.meta.url));
const shippedDirectory = "/etc/steward-observability";
const caFile = "prometheus/steward-ca.pem";
const alertmanagerFile = "alertmanager/alertmanager.yml";

// Quotes of JSON are also quotes of YAML, Alloy and systemd.
const yamlString = (text: string): string => JSON.stringify(text);

function scrapeEdits({ name, url, certificate, serverName }: StackHost, directory: string): readonly Edit[] {
  const { protocol, host, hostname, port } = new URL(url);
  const isTls = protocol === "https:";
  const address = port === "" ? `${hostname}:${isTls ? 443 : 80}` : host;
  const tls = [
    ...(certificate === undefined ? [] : [`      ca_file: ${directory}/${caFile}`]),
    ...(serverName === undefined ? [] : [`      server_name: ${yamlString(serverName)}`]),
  ];
  const scheme = ["    scheme: https", ...(tls.length === 0 ? [] : ["    tls_config:", ...tls])].join("\n");
  return [
    ...(isTls ? [["    scheme: http", scheme] as const] : []),
    ['"127.0.0.1:8470"', yamlString(address)],
    ['instance: "localhost"', `instance: ${yamlString(name)}`],
  ];
}

function mailEdits({ mail }: StackHost): readonly Edit[] {
  if (mail === undefined) return [];
  const { hostname, port, protocol } = new URL(mail.smtp);
  const server = `${hostname}:${port || (protocol === "smtps:" ? 465 : 25)}`;
  return [
    ['smtp_smarthost: "127.0.0.1:25"', `smtp_smarthost: ${yamlString(server)}`],
    ['smtp_from: "steward@localhost"', `smtp_from: ${yamlString(mail.from)}`],
    ['to: "root@localhost"', `to: ${yamlString(mail.to.join(", "))}`],
    ...(mail.isTlsRequired
      ? [
          [
            "  # A mail server on this machine usually has no certificate. Elsewhere this must be true.\n  smtp_require_tls: false",
            "  smtp_require_tls: true",
          ] as const,
        ]
      : []),
    ...(mail.user === undefined
      ? []
      : [
          ['# smtp_auth_username: "steward"', `smtp_auth_username: ${yamlString(mail.user)}`] as const,
          ["# smtp_auth_password_file:", "smtp_auth_password_file:"] as const,
        ]),
  ];
}

function editsFor(host: StackHost, directory: string): Readonly<Record<string, readonly Edit[]>> {
  const name = yamlString(host.name);
  return {
    "prometheus/prometheus.yml": scrapeEdits(host, directory),
    [alertmanagerFile]: mailEdits(host),
    "promtail/steward.yml": [['host: "localhost"', `host: ${name}`]],
    "alloy/steward.alloy": [['host = "localhost"', `host = ${name}`]],
    "vector/steward.yaml": [['host: "localhost"', `host: ${name}`]],
    "otel-collector/steward.yaml": [['value: "localhost"', `value: ${name}`]],
    "fluent-bit/steward.yaml": [["host=localhost", `host=${host.name}`]],
  };
}

function edited(file: string, text: string, edits: readonly Edit[]): string {
  return edits.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`cannot fill in ${file}: it has no ${JSON.stringify(from)}`);
    return before.replaceAll(from, () => to);
  }, text);
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  writeFileSync(path, text, { flag: "wx" });
  // Whatever the umask is: the programs that read it run as other users, and it holds no secret.
  chmodSync(path, 0o644);
}

function stackFiles(directory: string, host: StackHost): ReadonlyMap<string, string> {
  const edits = editsFor(host, directory);
  const names = readdirSync(shipped, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(shipped.length + sep.length))
    .sort();
  const files = new Map(
    names.map((name) => {
      const text = readFileSync(join(shipped, name), "utf8").replaceAll(shippedDirectory, () => directory);
      return [name, edited(name, text, edits[name] ?? [])] as const;
    }),
  );
  if (host.certificate !== undefined) files.set(caFile, host.certificate);
  return files;
}

/**
 * Writes the files of the observability stack for this host.
 * @throws Error when they cannot be written, or one of them is there already; nothing is written then.
 */
function makeStack(directory: string, host: StackHost): { path: string; files: readonly string[] } {
  // It is written into unit files and settings of several languages; what would need quotes in one of them is refused.
  if (!/^\/[\w./@+-]+$/.test(directory)) {
    throw new Error(
      `cannot use the directory ${JSON.stringify(directory)}: letters, digits and . _ @ + - are what its path may have`,
    );
  }
  if (!/^[\w.-]+$/.test(host.name)) {
    throw new Error(
      `cannot use the name ${JSON.stringify(host.name)}: letters, digits and . _ - are what a host may be called`,
    );
  }
  const files = stackFiles(directory, host);
  const present = [...files.keys()].find((name) => existsSync(join(directory, name)));
  if (present !== undefined) throw new Error(`cannot write ${join(directory, present)}: it is there already`);
  for (const [name, text] of files) write(join(directory, name), text);
  return { path: directory, files: [...files.keys()] };
}

/** What the files cannot hold: secrets, and what only root may do. */
function nextSteps(directory: string, { mail }: StackHost): readonly string[] {
  const secret = (path: string): string => `install -m 640 -g prometheus /dev/null ${directory}/${path}`;
  return [
    secret("prometheus/steward.key"),
    `steward keys create prometheus --scope metrics:read > ${directory}/prometheus/steward.key`,
    secret("alertmanager/paging-url"),
    `# put the address of the webhook that wakes somebody into ${directory}/alertmanager/paging-url`,
    ...(mail?.user === undefined
      ? []
      : [
          secret("alertmanager/smtp-password"),
          `# put the password at the mail server into ${directory}/alertmanager/smtp-password`,
        ]),
    ...(mail === undefined
      ? [`# put the mail server and the recipients into ${directory}/alertmanager/alertmanager.yml`]
      : []),
    `cp -r ${directory}/systemd/. /etc/systemd/system/`,
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
    .argument("<dir>", "directory that they are written into")
    .json("print what was written as JSON")
    .notes(`They are those of deploy/observability with the address, the certificate and the mail server of the settings.
No secret is written, the service is not asked, and nothing that is there is written over.`);
  init.action(async (dir: string, options: { json?: boolean }) => {
    const host = await local.stackHost(givenUrl(init));
    const { path, files } = makeStack(resolve(dir), host);
    const steps = nextSteps(path, host);
    if (options.json) return printJson(io, { path, files, next_steps: steps });
    io.out(
      `${path}: ${counted(files.length, "file")} for ${oneLine(host.name)} with the service at ${oneLine(host.url)}\n`,
    );
    io.out(`\nWhat is left to do, as root, with Debian's packages:\n${steps.map((step) => `  ${step}\n`).join("")}`);
  });
}
