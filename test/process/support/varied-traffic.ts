import { METHODS } from "node:http";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { createRandom } from "../../support/random.ts";
import { exchange } from "./raw-socket.ts";
import type { RunningService } from "./service.ts";

/** The templates of all paths of the API. */
export const routes: readonly string[] = Object.values<Operation>(operations).map(({ base, path }) =>
  base === "root" ? path : apiBase + path,
);

/** A request with the key of the service, or with the headers that are given instead. */
export const requestText = (line: string, headers: string): string =>
  `${line} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;

/** Known paths, unknown ones, malformed ones, with methods of all kinds. Returns how many were answered. */
export async function variedTraffic({ port, adminKey }: RunningService, count: number): Promise<number> {
  const { fraction: random } = createRandom(count);
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const methods = [...METHODS.filter((method) => method !== "CONNECT"), "BREW", "get", "X".repeat(50)];
  const part = (): string => random().toString(36).slice(2);
  const paths = [() => pick(routes), () => `/${part()}`, () => `${apiBase}/${part()}`, () => `/%${part()}`, () => "/%"];
  const answered = await Promise.all(
    Array.from({ length: 20 }, async () => {
      let answers = 0;
      for (let sent = 0; sent < count / 20; sent += 1) {
        const line = `${pick(methods)} ${pick(paths)?.()}?_q=${part()}`;
        const localAddress = `127.0.3.${1 + Math.floor(random() * 200)}`;
        const headers = random() < 0.8 ? `X-API-Key: ${adminKey}\r\n` : "";
        const isHead = line.startsWith("HEAD ");
        answers += (await exchange(port, requestText(line, headers), { localAddress, isHead })).length;
      }
      return answers;
    }),
  );
  return answered.reduce((sum, answers) => sum + answers, 0);
}
