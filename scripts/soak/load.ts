import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";

/** Where the service is. */
export interface Address {
  readonly url: string;
  readonly key: string;
}

/** What came of the load so far. */
export interface Tally {
  /** Milliseconds of each answered request, by the name of its kind. */
  readonly latencies: Map<string, number[]>;
  /** What went wrong, in words, while nothing was to go wrong. */
  readonly faults: string[];
  /** What went wrong while the service was being restarted. */
  readonly interrupted: string[];
  readonly keys: Map<string, "there" | "revoked" | "unsure">;
  readonly silences: Set<string>;
  /** Whether the plugin is enabled, as it was last acknowledged. */
  plugin: boolean | "unsure";
  streams: number;
  frames: number;
  mutations: number;
}

export interface Load {
  readonly tally: Tally;
  /** What goes wrong from now on was to be expected, or no longer is. */
  readonly expectTrouble: (isExpected: boolean) => void;
  readonly stop: () => Promise<void>;
}

/** What this host has, and what a load on it is made of. */
export interface LoadPlan {
  /** Units to restart by the service, in turn. */
  readonly units: readonly string[];
  /** The name of a plugin that can be enabled. */
  readonly plugin: string | undefined;
  readonly readsPerSecond: number;
  /** How long apart changes of keys are; those of silences and plugins follow from it. */
  readonly changeMs: number;
  /** For so long the whole journal is read, page by page, so that what is kept of it is all there when memory is measured. */
  readonly fillMs: number;
  /** Whether there is a language model to chat with. */
  readonly hasModel: boolean;
}

const reads = [
  "/health",
  "/system/info",
  "/system/services?limit=100",
  "/health/checks",
  "/health/checks/disk_space/history",
  "/auth/whoami",
  "/plugins",
  "/alerts",
  "/operations",
  "/connectors",
] as const;
const logQueries = ["?limit=200", "?limit=50&priority=4", "?limit=20&grep=line", "?limit=100&order=desc"] as const;
/** How long a stream of those that come and go is open, and one that never reads. */
const visitMs = 4_000;
const stallMs = 15_000;
/** How long apart pages of the whole journal are asked for. */
const pageMs = 100;

const reasonOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.message}${error.cause instanceof Error ? `: ${error.cause.message}` : ""}`
    : String(error);

/** Begins a steady load that continues until it is stopped. @param address is asked for again after each restart. */
export function startLoad(address: () => Address, plan: LoadPlan): Load {
  const tally: Tally = {
    latencies: new Map(),
    faults: [],
    interrupted: [],
    keys: new Map(),
    silences: new Set(),
    plugin: "unsure",
    streams: 0,
    frames: 0,
    mutations: 0,
  };
  const over = new AbortController();
  let isTroubleExpected = false;

  const fault = (what: string): void => {
    if (!over.signal.aborted) (isTroubleExpected ? tally.interrupted : tally.faults).push(what);
  };

  /** One request; undefined when it was not answered as it should be. */
  const ask = async (kind: string, method: string, path: string, body?: object): Promise<unknown> => {
    const { url, key } = address();
    const startedAt = performance.now();
    try {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: { "X-API-Key": key, ...(body && { "Content-Type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const known = tally.latencies.get(kind) ?? [];
      tally.latencies.set(kind, known);
      if (!isTroubleExpected) known.push(performance.now() - startedAt);
      if (response.ok)
        return response.headers.get("Content-Type")?.startsWith("application/json") ? JSON.parse(text) : text;
      fault(`${method} ${path}: ${response.status} ${text.slice(0, 200)}`);
    } catch (error) {
      fault(`${method} ${path}: ${reasonOf(error)}`);
    }
    return undefined;
  };

  const idOf = (answer: unknown): string | undefined =>
    typeof answer === "object" && answer !== null && "id" in answer ? String(answer.id) : undefined;

  const succeeded = (answer: unknown): boolean =>
    typeof answer === "object" && answer !== null && "success" in answer && answer.success === true;

  /** Turns at a fixed pace; a turn that takes longer holds up its own actor alone. */
  const every = async (intervalMs: number, turn: (count: number) => Promise<unknown>): Promise<void> => {
    for (let count = 0; !over.signal.aborted; count += 1) {
      const startedAt = performance.now();
      await turn(count);
      const rest = intervalMs - (performance.now() - startedAt);
      await sleep(Math.max(0, rest), undefined, { signal: over.signal }).catch(() => undefined);
    }
  };

  const changeKeys = async (count: number): Promise<void> => {
    const made = idOf(await ask("mutation", "POST", "/auth/keys", { name: `soak ${count}`, scopes: ["system:read"] }));
    if (made === undefined) return;
    tally.mutations += 1;
    tally.keys.set(made, "there");
    if (count % 5 === 0) return;
    tally.keys.set(made, "unsure");
    if ((await ask("mutation", "DELETE", `/auth/keys/${made}`)) === undefined) return;
    tally.mutations += 1;
    tally.keys.set(made, "revoked");
  };

  const changeSilences = async (count: number): Promise<void> => {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const body = { alert: "DiskSpaceLow", until, comment: `soak ${count}` };
    const made = idOf(await ask("mutation", "POST", "/alerts/silences", body));
    if (made === undefined) return;
    tally.mutations += 1;
    if (count % 10 === 0) return void tally.silences.add(made);
    if ((await ask("mutation", "DELETE", `/alerts/silences/${made}`)) !== undefined) tally.mutations += 1;
  };

  const changePlugin = async (name: string, count: number): Promise<void> => {
    const isEnabled = count % 2 === 0;
    tally.plugin = "unsure";
    const path = `/plugins/${name}/${isEnabled ? "enable" : "disable"}`;
    const answer = await ask("plugin", "POST", path, isEnabled ? {} : undefined);
    if (answer === undefined) return;
    if (!succeeded(answer)) return fault(`POST ${path}: ${JSON.stringify(answer)}`);
    tally.mutations += 1;
    tally.plugin = isEnabled;
  };

  /** @param kind what the client does: it stays until the end, goes after a while, or never reads and is then gone. */
  const openStream = async (path: string, kind: "stays" | "visits" | "stalls"): Promise<void> => {
    const { url, key } = address();
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}/api/v1${path}`, { headers: { "X-API-Key": key } });
    const closed = new Promise<number>((resolve) => socket.once("close", resolve));
    socket.on("error", (error) => fault(`stream ${path}: ${error.message}`));
    socket.on("message", () => {
      tally.frames += 1;
    });
    socket.once("open", () => {
      tally.streams += 1;
      if (kind === "stalls") socket.pause();
    });
    // A visit begins when it is admitted, however long that takes.
    await Promise.race([new Promise((resolve) => socket.once("open", resolve)), closed]);
    const durationMs = { stays: undefined, visits: visitMs, stalls: stallMs }[kind];
    const timer = new AbortController();
    const isOver = await Promise.race([
      closed.then(() => false),
      durationMs === undefined
        ? new Promise<true>((resolve) => over.signal.addEventListener("abort", () => resolve(true), { once: true }))
        : sleep(durationMs, true, { signal: AbortSignal.any([timer.signal, over.signal]) }).catch(() => true),
    ]);
    timer.abort();
    if (isOver && Math.random() < 0.5 && kind !== "stalls") socket.close();
    else socket.terminate();
    const code = await closed;
    if (!isOver && kind !== "stalls") fault(`stream ${path}: closed with ${code}`);
  };

  const chat = (count: number) => {
    const messages = [{ role: "user", content: "How is it?" }];
    return ask("chat", "POST", "/connectors/chat", { messages, stream: count % 2 === 0 });
  };

  const readAllLogs = async (): Promise<void> => {
    const endAt = performance.now() + plan.fillMs;
    let cursor = "";
    while (!over.signal.aborted && performance.now() < endAt) {
      const answer = await ask("pages", "GET", `/system/logs?order=asc&limit=1000${cursor}`);
      const next = typeof answer === "object" && answer !== null && "next_cursor" in answer ? answer.next_cursor : null;
      cursor = typeof next === "string" ? `&cursor=${encodeURIComponent(next)}` : "";
      await sleep(pageMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };

  const { plugin, units, changeMs, hasModel } = plan;
  const running = Promise.all([
    every(1_000 / plan.readsPerSecond, (count) => ask("read", "GET", reads[count % reads.length] ?? "/health")),
    readAllLogs(),
    every(500, (count) => ask("logs", "GET", `/system/logs${logQueries[count % logQueries.length]}`)),
    every(changeMs, changeKeys),
    every(1.5 * changeMs, changeSilences),
    ...(hasModel ? [every(2_000, chat)] : []),
    every(5_000, () => ask("tokens", "POST", "/auth/tokens", {})),
    every(10_000, () => ask("checks", "GET", "/health/checks/disk_space")),
    ...["/ws/logs", "/ws/health", "/ws/logs"].map((path) => every(1_000, () => openStream(path, "stays"))),
    ...["/ws/logs", "/ws/health"].map((path) => every(1_000, () => openStream(path, "visits"))),
    ...["/ws/logs", "/ws/health"].map((path) => every(2_000, () => openStream(path, "stalls"))),
    ...(plugin === undefined ? [] : [every(5 * changeMs, (count) => changePlugin(plugin, count))]),
    ...(units.length === 0
      ? []
      : [every(10_000, (count) => ask("restart", "POST", `/system/services/${units[count % units.length]}/restart`))]),
  ]);
  return {
    tally,
    expectTrouble(isExpected) {
      isTroubleExpected = isExpected;
    },
    async stop() {
      over.abort();
      await running;
    },
  };
}
