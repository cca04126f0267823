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

/** What is no key is not sent: the error that came of it would show it, and others may read that. */
function oneWord(text: string, from: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new Error(`cannot use the key in ${from}: there must be one word and nothing else`);
}

const readText = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`cannot read the key file ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
};

const readKey = (path: string): string => oneWord(readText(path), path);

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
  /** Node's own unless given. */
  fetch?: typeof globalThis.fetch;
}): Promise<Client> {
  const { options, environment, local, signal, fetch } = ports;
  const given = { ...(signal && { signal }), ...(fetch && { fetch }) };
  const url = options.url ?? environment["STEWARD_URL"];
  if (options.keyFile !== undefined)
    return createClient({ url: url ?? (await local()).url, key: readKey(options.keyFile), ...given });
  const text = environment["STEWARD_API_KEY"];
  if (text !== undefined) {
    const key = oneWord(text, "STEWARD_API_KEY");
    return createClient({ url: url ?? (await local()).url, key, ...given });
  }
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
