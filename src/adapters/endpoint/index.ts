import { X509Certificate } from "node:crypto";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { TLSSocket } from "node:tls";
import { healthy, type Probe, unhealthy } from "#domain/ports/probe.ts";

export interface OwnTls {
  readonly cert: () => string;
  readonly asksForCertificate: boolean;
}

const timeoutMs = 5_000;

/** The alert of TLS 1.3 that is sent where no certificate was given (RFC 8446 §6.2), which the probe speaks with itself. */
const certificateMissing = "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED";

/** Probes `/livez` on the service's own address. Over TLS it has to show the expected certificate. */
export function createEndpointProbe(ports: { url: string; tls: OwnTls | undefined }): Probe {
  const { tls } = ports;
  const url = new URL("/livez", ports.url);
  return (signal) =>
    new Promise((resolve, reject) => {
      const options = { signal, agent: false, timeout: timeoutMs };
      const before = tls?.cert();
      let isOurs = tls === undefined;
      const request =
        tls === undefined
          ? requestHttp(url, options)
          : requestHttps(url, { ...options, minVersion: "TLSv1.3", rejectUnauthorized: false });
      request.on("socket", (socket) => {
        if (!(socket instanceof TLSSocket) || tls === undefined) return;
        socket.once("secureConnect", () => {
          const shown = socket.getPeerX509Certificate()?.fingerprint256;
          const own = [before, tls.cert()].map((cert) => cert && new X509Certificate(cert).fingerprint256);
          isOurs = own.includes(shown);
        });
      });
      request.on("response", (response) => {
        response.resume();
        const { statusCode } = response;
        if (!isOurs) resolve(unhealthy("own address shows another certificate"));
        else resolve(statusCode === 200 ? healthy : unhealthy(`own address answers ${statusCode}`));
      });
      request.on("timeout", () => request.destroy(new Error("own address does not answer")));
      request.on("error", (error: NodeJS.ErrnoException) => {
        if (isOurs && tls?.asksForCertificate && error.code === certificateMissing) resolve(healthy);
        else reject(error);
      });
      request.end();
    });
}

export const createSocketProbe =
  (path: string): Probe =>
  (signal) =>
    new Promise((resolve, reject) => {
      const options = { socketPath: path, path: "/livez", signal, agent: false, timeout: timeoutMs };
      const request = requestHttp(options, (response) => {
        response.resume();
        const { statusCode } = response;
        resolve(statusCode === 200 ? healthy : unhealthy(`own socket answers ${statusCode}`));
      });
      request.on("timeout", () => request.destroy(new Error("own socket does not answer")));
      request.on("error", reject);
      request.end();
    });
