import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Agent } from "undici";
import { errorMessage } from "#kernel/errors.ts";
import { fetchThrough, loadUndici } from "./fetch.ts";

export interface CertificateOptions {
  readonly cacert?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const givenCertificates = (options: CertificateOptions, environment: Environment): CertificateOptions => ({
  cacert: options.cacert ?? environment["STEWARD_CACERT"],
  cert: options.cert ?? environment["STEWARD_CLIENT_CERT"],
  key: options.key ?? environment["STEWARD_CLIENT_KEY"],
});

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`cannot read ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

/** Undefined where Node's default agent does. */
async function agentWith({ cacert, cert, key }: CertificateOptions): Promise<Agent | undefined> {
  if (key !== undefined && cert === undefined)
    throw new Error("cannot use --key without --cert: it is the key of that");
  if (cacert === undefined && cert === undefined) return undefined;
  const connect = {
    ...(cacert !== undefined && { ca: read(cacert) }),
    // As with curl, both may be in one file.
    ...(cert !== undefined && { cert: read(cert), key: read(key ?? cert) }),
  };
  try {
    createSecureContext(connect);
  } catch (error) {
    const files = [cacert, cert, key].filter((file) => file !== undefined).join(", ");
    throw new Error(`cannot use ${files}: ${errorMessage(error)}`, { cause: error });
  }
  const { Agent } = await loadUndici();
  return new Agent({ connect });
}

/** Makes every connection of this process, also streams, use these. @throws Error when they cannot be read or do not match. */
export async function useCertificates(options: CertificateOptions): Promise<void> {
  const agent = await agentWith(options);
  if (agent === undefined) return;
  const { setGlobalDispatcher } = await loadUndici();
  setGlobalDispatcher(agent);
}

/** `fetch` with these certificates, for a process that asks several hosts. @throws Error as {@link useCertificates}. */
export async function fetchWith(options: CertificateOptions): Promise<typeof globalThis.fetch> {
  const agent = await agentWith(options);
  return agent === undefined ? globalThis.fetch : fetchThrough(() => Promise.resolve(agent));
}
