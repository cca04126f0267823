import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Probe } from "#domain/health/ports.ts";

/**
 * Whether the service's own address answers `/livez`: the way that the command line goes.
 * @param cert the certificate that the service itself serves, trusted here and nothing else.
 */
export function createEndpointProbe(ports: { url: string; cert: string | undefined }): Probe {
  const url = new URL("/livez", ports.url);
  return (signal) =>
    new Promise((resolve, reject) => {
      const options = { signal, agent: false, timeout: 5_000 };
      const request =
        ports.cert === undefined
          ? requestHttp(url, options)
          : requestHttps(url, { ...options, ca: ports.cert, checkServerIdentity: () => undefined });
      request.on("response", (response) => {
        response.resume();
        const { statusCode } = response;
        if (statusCode === 200) resolve({ healthy: true, expected: true });
        else resolve({ healthy: false, expected: true, reason: `own address answers ${statusCode}` });
      });
      request.on("timeout", () => request.destroy(new Error("own address does not answer")));
      request.on("error", reject);
      request.end();
    });
}
