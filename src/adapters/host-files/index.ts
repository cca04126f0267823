import { readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { request as requestHttp } from "node:http";
import { join } from "node:path";
import type { GetBySocket, HostFiles } from "#domain/ports/host-files.ts";

/** @param root in the place of `/`, for recorded files. */
export const createHostFiles = (root = "/"): HostFiles => ({
  text: (path) => readFile(join(root, path), "utf8"),
  names: async (path) => (await readdir(join(root, path))).toSorted(),
  target: (path) => readlink(join(root, path)),
  real: (path) => realpath(join(root, path)),
  async stat(path) {
    const found = await stat(join(root, path));
    return { size: found.size, isSocket: found.isSocket() };
  },
});

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
