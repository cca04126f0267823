import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { TLSSocket } from "node:tls";
import { readTextFile } from "#adapters/files/index.ts";
import { guardedLookup, isLinkLocal } from "#adapters/link-local/index.ts";
import { errorMessage } from "#kernel/errors.ts";

export interface HttpTarget {
  readonly url: string;
  readonly timeoutMs: number;
  /** Certificates to trust besides those of the host; PEM. */
  readonly caFile?: string;
  /** How many days its certificate has to be good for; being good now is enough unless given. */
  readonly certificateDays?: number;
}

export interface Answer {
  readonly status: number;
  readonly certificateEnd: number | undefined;
}

const linkLocal = (): Error => new Error("it leads to a link-local address, which is never asked");

/** Resolves names as the host does, without the addresses where nobody is asked. */
export const lookup = guardedLookup(linkLocal);

export function checkHost(host: string): void {
  if (isLinkLocal(host)) throw linkLocal();
}

/** An error with a message: what fails for each address of a name has none of its own. */
export const worded = (error: Error): Error =>
  error instanceof AggregateError && error.message === ""
    ? new Error(error.errors.map((each) => errorMessage(each)).join("; "))
    : error;

const certificateEndOf = (socket: unknown): number | undefined =>
  socket instanceof TLSSocket ? Date.parse(socket.getPeerCertificate().valid_to) : undefined;

/** Asks once, on a connection of its own, and reads no more than the beginning of the answer. Follows no redirect. */
export async function ask(
  target: HttpTarget,
  { path, body }: { readonly path?: string; readonly body?: string },
  signal: AbortSignal,
): Promise<Answer> {
  const { url: text, timeoutMs, caFile } = target;
  const url = path === undefined ? new URL(text) : new URL(text.replace(/\/*$/, path));
  checkHost(url.hostname);
  const ca = caFile === undefined ? undefined : readTextFile(caFile);
  const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = send(url, {
      method: body === undefined ? "GET" : "POST",
      agent: false,
      signal: over,
      lookup,
      headers: {
        "user-agent": "steward",
        ...(body !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      },
      ...(ca !== undefined && { ca }),
    });
    request.on("response", (response) => {
      resolve({ status: response.statusCode ?? 0, certificateEnd: certificateEndOf(response.socket) });
      response.destroy();
    });
    request.on("error", (error) => {
      reject(over.aborted && !signal.aborted ? new Error(`no answer within ${timeoutMs / 1000} s`) : worded(error));
    });
    request.end(body);
  });
}
