import { existsSync } from "node:fs";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { readTextFile } from "#adapters/files/index.ts";
import { certName } from "#adapters/tls/files.ts";
import { readAdminKey } from "#app/admin-key.ts";
import type { Environment } from "#config/defaults.ts";
import type { Config } from "#config/load.ts";
import { readLocalSettings } from "#config/local-service.ts";
import { adminKeyFile, socketPlaces } from "#config/places.ts";
import { localUrl } from "#config/text.ts";

const isRoot = process.getuid?.() === 0;

/** How the service of this host is reached. @param loadAll reads settings that are not plain. */
export async function localService(environment: Environment, loadAll: () => Promise<Config>) {
  const config = readLocalSettings(environment, isRoot) ?? (await loadAll());
  const certFile = join(config.stateDir, certName);
  if (config.tls === "auto" && existsSync(certFile)) {
    // The local service signed its certificate itself, so this process has to trust it explicitly.
    setDefaultCACertificates([...getCACertificates("default"), readTextFile(certFile, { followsLinks: false })]);
  }
  return {
    url: localUrl(config),
    sockets: socketPlaces(config.stateDir, environment, isRoot),
    adminKeyFile: join(config.stateDir, adminKeyFile),
    readAdminKey,
  };
}
