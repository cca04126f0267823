import { readFileSync } from "node:fs";
import type { Agent } from "undici";
import { errorMessage } from "#kernel/errors.ts";
import { fetchThrough } from "./fetch.ts";

/** Files that the connection to a service is made with. */
export interface CertificateOptions {
  readonly cacert?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** As given on the command line, else in the environment. */
export const givenCertificates = (options: CertificateOptions, environment: Environment): CertificateOptions => ({
  cacert: options.cacert ?? environment["STEWARD_CACERT"],
  cert: options.cert ?? environment["STEWARD_CLIENT_CERT"],
  key: options.key ?? environment["STEWARD_CLIENT_KEY"],
});

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const reason = errorMessage(error);
    throw new Error(`cannot read ${path}: ${reason}`, { cause: error });
  }
}

/** What makes connections with these; undefined where there is nothing beyond what Node does by itself. */
async function agentWith({ cacert, cert, key }: CertificateOptions): Promise<Agent | undefined> {
  if (key !== undefined && cert === undefined)
    throw new Error("cannot use --key without --cert: it is the key of that");
  if (cacert === undefined && cert === undefined) return undefined;
  // Loaded on demand: most calls go without.
  const [{ createSecureContext }, undici] = await Promise.all([import("node:tls"), import("undici")]);
  const connect = {
    ...(cacert !== undefined && { ca: read(cacert) }),
    // As with curl, both may be in one file.
    ...(cert !== undefined && { cert: read(cert), key: read(key ?? cert) }),
  };
  try {
    createSecureContext(connect);
  } catch (error) {
    const reason = errorMessage(error);
    const files = [cacert, cert, key].filter((file) => file !== undefined).join(", ");
    throw new Error(`cannot use ${files}: ${reason}`, { cause: error });
  }
  return new undici.Agent({ connect });
}

/**
 * Has every connection of this process, streams too, made with these.
 * @throws Error when a file cannot be read, or certificate and key do not belong together.
 */
export async function useCertificates(options: CertificateOptions): Promise<void> {
  const agent = await agentWith(options);
  if (agent === undefined) return;
  const { setGlobalDispatcher } = await import("undici");
  setGlobalDispatcher(agent);
}

/**
 * `fetch` with these certificates alone, for a process that asks several hosts: what one is trusted with is not for the others.
 * @throws Error when a file cannot be read, or certificate and key do not belong together.
 */
export async function fetchWith(options: CertificateOptions): Promise<typeof globalThis.fetch> {
  const agent = await agentWith(options);
  if (agent === undefined) return globalThis.fetch;
  return fetchThrough(() => Promise.resolve(agent));
}
