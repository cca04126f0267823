import { request as requestHttp } from "node:http";
import type { GetBySocket } from "#domain/ports/host-files.ts";

const timeoutMs = 10_000;
const maxAnswerBytes = 16 * 1024 * 1024;

export const getBySocket: GetBySocket = (socketPath, path, signal) =>
  new Promise((resolve, reject) => {
    const options = { socketPath, path, signal, agent: false, timeout: timeoutMs, headers: { host: "localhost" } };
    const request = requestHttp(options, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxAnswerBytes) request.destroy(new Error("its answer is larger than 16 MiB"));
        else chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        if (response.statusCode === 404) return resolve(undefined);
        if (response.statusCode !== 200) return reject(new Error(`it answers ${response.statusCode}`));
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString("utf8")));
        } catch {
          reject(new Error("its answer is not JSON"));
        }
      });
    });
    request.on("timeout", () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
    request.on("error", reject);
    request.end();
  });
