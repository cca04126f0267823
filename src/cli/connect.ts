import { accessSync, constants, readFileSync } from "node:fs";
import type { Client } from "#client/index.ts";
import { createClient } from "#client/index.ts";

/** How the service is found, as given on the command line. */
export interface ServiceOptions {
  readonly url?: string;
  readonly keyFile?: string;
}

/** What the local service would use by itself. */
export interface LocalService {
  readonly url: string;
  readonly adminKeyFile: string;
}

const readKey = (path: string): string => {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new Error(`cannot read the key file ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
};

const isReadable = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};

/**
 * A client of the named service, else of the local one with its admin key.
 * @throws Error when there is no key to be had.
 */
export async function connect(ports: {
  options: ServiceOptions;
  environment: Readonly<Record<string, string | undefined>>;
  local: () => Promise<LocalService>;
  /** Ends the calls of the client. */
  signal?: AbortSignal | undefined;
}): Promise<Client> {
  const { options, environment, local, signal } = ports;
  const given = signal && { signal };
  const url = options.url ?? environment["STEWARD_URL"];
  if (options.keyFile !== undefined)
    return createClient({ url: url ?? (await local()).url, key: readKey(options.keyFile), ...given });
  const key = environment["STEWARD_API_KEY"];
  if (key !== undefined) return createClient({ url: url ?? (await local()).url, key, ...given });
  const { url: localUrl, adminKeyFile } = await local();
  if (url !== undefined && new URL(url).origin !== new URL(localUrl).origin) {
    // The admin key of this host is for the service of this host, and for nobody else to see.
    throw new Error(`cannot find a key for ${url}: it is not the local service (use --key-file or STEWARD_API_KEY)`);
  }
  if (!isReadable(adminKeyFile)) {
    throw new Error(`cannot find a key: ${adminKeyFile} cannot be read (use --key-file or STEWARD_API_KEY)`);
  }
  return createClient({ url: url ?? localUrl, key: readKey(adminKeyFile), ...given });
}
