import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Client } from "#client/index.ts";
import { createClient } from "#client/index.ts";
import type { Bind } from "../test/host/boot.ts";
import type { Host } from "../test/host/host.ts";
import { ensureDeb } from "../test/host/support/deb.ts";
import { eventually } from "../test/host/support/eventually.ts";
import { modelUrl } from "./scenes/model.ts";

const port = 8470;
const directory = "/srv/steward";
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

const config = `listen: 0.0.0.0:${port}
tls: auto
# The processors are those of the whole machine.
health: { checks: { cpu_load: { enabled: false }, pressure: { enabled: false } } }
connectors:
  default: demo
  list:
    - { name: demo, provider: openai-compatible, model: demo-1, base_url: "${modelUrl}" }
updates: { guard_minutes: 1 }
`;

/** The service of the demo, as a client reaches it. */
export interface DemoService {
  readonly url: string;
  readonly key: string;
  /** The certificate that it signed for itself. */
  readonly ca: string;
  readonly api: Client;
}

/** The package of the sources as they are, built where it is not there yet, as the host is to see it. */
export async function bindPackage(): Promise<Bind> {
  return { source: await ensureDeb(version), target: directory, readOnly: true };
}

/** Installs the package inside and waits until the service answers over TLS. */
export async function installService(host: Host, address: string): Promise<DemoService> {
  await host.writeFile("/etc/steward/config.yaml", config);
  const apt = "apt-get --quiet --yes -o Dpkg::Options::=--force-confold install";
  await host.exec(["sh", "-c", `${apt} ${directory}/*.deb`], {
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8" },
    timeoutMs: 180_000,
  });
  const [key, ca] = await eventually(
    () => Promise.all([host.readFile("/var/lib/steward/admin.key"), host.readFile("/var/lib/steward/tls-cert.pem")]),
    60_000,
  );
  const url = `https://${address}:${port}`;
  // For this process alone: nobody else has vouched for the certificate.
  setDefaultCACertificates([...getCACertificates("default"), ca]);
  const api = createClient({ url, key: key.trim() });
  await eventually(() => api.getHealth(), 60_000);
  return { url, key: key.trim(), ca, api };
}
