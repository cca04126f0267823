import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Running, Wiring, Workspace } from "./workspace.ts";

/** A server that answers. */
export interface Server extends Running {
  readonly url: string;
  /** What each request carries. Both sides get the same. */
  readonly headers: Readonly<Record<string, string>>;
  /** From the start of its process to the first answer. */
  readonly startMs: number;
}

const thisCheckout = fileURLToPath(new URL("..", import.meta.url));

const unitFile = fileURLToPath(new URL("../deploy/systemd/steward.service", import.meta.url));

/** The programs that are compared with it, run by the same Node with the same flags: none. */
const programs = {
  bareFastify: fileURLToPath(new URL("./peers/bare-fastify.ts", import.meta.url)),
  bareInfo: fileURLToPath(new URL("./peers/bare-info.ts", import.meta.url)),
  bareBroadcast: fileURLToPath(new URL("./peers/bare-broadcast.ts", import.meta.url)),
  collector: fileURLToPath(new URL("./peers/collector.ts", import.meta.url)),
};
const slowLink = fileURLToPath(new URL("./peers/slow-link.ts", import.meta.url));

/** A bare server in `peers`. */
export type PeerName = keyof typeof programs;

const startTimeoutMs = 20_000;
const pollIntervalMs = 2;

/** A port that nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen({ host: "127.0.0.1", port: 0 }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** Asks once over a fresh connection, with as little work of ours as can be: the server starts beside it. */
function answers(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const end = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.setTimeout(startTimeoutMs, () => end(false));
    socket.on("error", () => end(false));
    socket.on("end", () => end(false));
    socket.on("data", (data) => end(data.toString("latin1").startsWith("HTTP/1.1 200 ")));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`);
  });
}

/**
 * Starts a program that listens on this port of loopback and waits until `path` answers 200.
 * @throws Error when it ends or does not answer in time, with what it printed.
 */
export async function startServer(
  workspace: Workspace,
  program: {
    argv: readonly [string, ...string[]];
    env?: Readonly<Record<string, string>>;
    port: number;
    path: string;
    wiring?: Wiring;
  },
): Promise<Server> {
  const { argv, env = {}, port, path, wiring } = program;
  const startedAt = performance.now();
  const running = workspace.start(argv, env, wiring);
  while (!(await answers(port, path))) {
    const isLate = performance.now() - startedAt > startTimeoutMs;
    if (isLate || running.hasEnded()) {
      const why = isLate ? `no answer after ${startTimeoutMs} ms` : "it ended";
      throw new Error(`cannot start ${argv.join(" ")}: ${why}\n${running.output()}`);
    }
    await sleep(pollIntervalMs);
  }
  return { ...running, url: `http://127.0.0.1:${port}`, headers: {}, startMs: performance.now() - startedAt };
}

/** Compiled code is kept as scripts/run keeps it, but in a directory of this run. */
const withCompileCache = ({ directory }: Workspace) => ({ NODE_COMPILE_CACHE: join(directory, "compile-cache") });

/** Limits that are counted for every request and never reached. */
const countedLimits = "rate_limits:\n  per_minute: 1000000000\n  per_hour: 1000000000\n";

/**
 * The service from a checkout, as `npm start` runs it, with an admin key; a second one in the same workspace finds the state of the first.
 * @param options `journalDir` is read in place of the journal of the host; `settings` are further ones, YAML.
 */
export async function startSteward(
  workspace: Workspace,
  {
    limits,
    journalDir,
    settings = "",
    env = {},
    checkout = thisCheckout,
  }: {
    limits: "counted" | "default";
    journalDir?: string;
    settings?: string;
    env?: Readonly<Record<string, string>>;
    checkout?: string;
  },
): Promise<Server> {
  const port = await freePort();
  const run = join(checkout, "scripts/run");
  // What one version has written need not be readable for another one.
  const stateDir = join(workspace.directory, checkout === thisCheckout ? "state" : "other-state");
  const config = join(workspace.directory, "config.yaml");
  const text = `${limits === "counted" ? countedLimits : ""}${settings}`;
  if (text !== "") writeFileSync(config, text);
  const server = await startServer(workspace, {
    argv: ["sh", run, "production", "src/main.ts", "serve", ...(text === "" ? [] : ["--config", config])],
    env: {
      ...env,
      ...withCompileCache(workspace),
      STEWARD_LISTEN: `127.0.0.1:${port}`,
      STEWARD_STATE_DIR: stateDir,
      ...(journalDir !== undefined && { STEWARD_JOURNAL_DIR: journalDir }),
    },
    port,
    path: "/livez",
  });
  const key = readFileSync(join(stateDir, "admin.key"), "utf8").trim();
  return { ...server, headers: { "X-API-Key": key } };
}

/** How the unit of the package bounds memory: its settings of Node and of the C library. */
export const memorySettings = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...readFileSync(unitFile, "utf8").matchAll(/^Environment=((?:NODE_OPTIONS|MALLOC_).*)$/gm)]
      .flatMap(([, settings = ""]) => settings.split(" "))
      .map((setting) => [setting.slice(0, setting.indexOf("=")), setting.slice(setting.indexOf("=") + 1)]),
  );

/** Makes a key that may read the journal and the health. @returns the headers of its requests. */
export async function makeKey({ url, headers }: Server, name: string): Promise<Server["headers"]> {
  const answer = await fetch(`${url}/api/v1/auth/keys`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify({ name, scopes: ["logs:read", "health:read"] }),
  });
  const { key } = (await answer.json()) as { key: string };
  return { "X-API-Key": key };
}

/** Starts a bare server. */
export async function startPeer(workspace: Workspace, name: PeerName, wiring: Wiring = {}): Promise<Server> {
  const port = await freePort();
  const argv = [process.execPath, programs[name], String(port)] as const;
  return startServer(workspace, { argv, env: withCompileCache(workspace), port, path: "/livez", wiring });
}

/** The same server behind a link of 10 Mbit/s with 20 ms there and back. */
export async function startSlowLink(workspace: Workspace, server: Server): Promise<Server> {
  const port = await freePort();
  const argv = [process.execPath, slowLink, String(port), new URL(server.url).port] as const;
  const link = await startServer(workspace, { argv, env: withCompileCache(workspace), port, path: "/livez" });
  return { ...link, headers: server.headers };
}
