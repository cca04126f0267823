import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { StackHost } from "../core/local.ts";

type Edit = readonly [from: string, to: string];

const shipped = fileURLToPath(new URL("../../../deploy/observability", import.meta.url));
const shippedFolder = "/etc/steward-observability";
const caFile = "prometheus/steward-ca.pem";
const alertmanagerFile = "alertmanager/alertmanager.yml";

// Quotes of JSON are also quotes of YAML, Alloy and systemd.
const yamlString = (text: string): string => JSON.stringify(text);

function scrapeEdits({ name, url, certificate, serverName }: StackHost, folder: string): readonly Edit[] {
  const { protocol, host, hostname, port } = new URL(url);
  const isTls = protocol === "https:";
  const address = port === "" ? `${hostname}:${isTls ? 443 : 80}` : host;
  const tls = [
    ...(certificate === undefined ? [] : [`      ca_file: ${folder}/${caFile}`]),
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
            "  # A mail server on this machine usually has no certificate. Elsewhere this has to be true.\n  smtp_require_tls: false",
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

/** Edits that adapt the shipped files to the host, by file. */
function editsFor(host: StackHost, folder: string): Readonly<Record<string, readonly Edit[]>> {
  const name = yamlString(host.name);
  return {
    "prometheus/prometheus.yml": scrapeEdits(host, folder),
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

/** All shipped files adapted to the host, by their path below the directory. */
function stackFiles(folder: string, host: StackHost): ReadonlyMap<string, string> {
  const edits = editsFor(host, folder);
  const names = readdirSync(shipped, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(shipped.length + sep.length))
    .sort();
  const files = new Map(
    names.map((name) => {
      const text = readFileSync(join(shipped, name), "utf8").replaceAll(shippedFolder, () => folder);
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
export function makeStack(folder: string, host: StackHost): { path: string; files: readonly string[] } {
  // It is written into unit files and settings of several languages; what would need quotes in one of them is refused.
  if (!/^\/[\w./@+-]+$/.test(folder)) {
    throw new Error(
      `cannot use the folder ${JSON.stringify(folder)}: letters, digits and . _ @ + - are what its path may have`,
    );
  }
  if (!/^[\w.-]+$/.test(host.name)) {
    throw new Error(
      `cannot use the name ${JSON.stringify(host.name)}: letters, digits and . _ - are what a host may be called`,
    );
  }
  const files = stackFiles(folder, host);
  const present = [...files.keys()].find((name) => existsSync(join(folder, name)));
  if (present !== undefined) throw new Error(`cannot write ${join(folder, present)}: it is there already`);
  for (const [name, text] of files) write(join(folder, name), text);
  return { path: folder, files: [...files.keys()] };
}
