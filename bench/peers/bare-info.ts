import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { cpus, hostname, release } from "node:os";
import { fastify } from "fastify";

/** A route of Fastify that reads what the host information is made of and answers it in the same shape. */
const port = Number(process.argv[2]);

const text = { type: "string" };
const integer = { type: "integer" };
const number = { type: "number" };
const object = (properties: Readonly<Record<string, object>>) => ({ type: "object", properties });
const response = {
  200: object({
    hostname: text,
    os: object({ name: text, version: text, kernel: text }),
    cpu: object({ model: text, cores: integer, threads: integer, load_percent: number }),
    memory: object({ total_bytes: integer, available_bytes: integer, percent_used: number }),
    disk: object({ path: text, total_bytes: integer, free_bytes: integer, percent_used: number }),
  }),
};

const osRelease = readFileSync("/etc/os-release", "utf8");
const os = {
  name: /^NAME="?([^"\n]*)/m.exec(osRelease)?.[1] ?? "Linux",
  version: /^VERSION_ID="?([^"\n]*)/m.exec(osRelease)?.[1] ?? "rolling",
  kernel: release(),
};
const processors = cpus();
const processor = { model: processors[0]?.model ?? "", cores: processors.length, threads: processors.length };
const name = hostname();

const roundPercent = (share: number): number => Math.round(share * 1000) / 10;

function readMemory() {
  const meminfo = readFileSync("/proc/meminfo", "utf8");
  const total = Number(/^MemTotal:\s+(\d+)/m.exec(meminfo)?.[1]) * 1024;
  const available = Number(/^MemAvailable:\s+(\d+)/m.exec(meminfo)?.[1]) * 1024;
  return { total_bytes: total, available_bytes: available, percent_used: roundPercent((total - available) / total) };
}

let busyBefore = 0;
let totalBefore = 0;
function readLoad(): number {
  const stat = readFileSync("/proc/stat", "utf8");
  const times = stat.slice(5, stat.indexOf("\n")).split(" ").map(Number);
  const total = times.slice(0, 8).reduce((sum, ticks) => sum + ticks, 0);
  const busy = total - (times[3] ?? 0) - (times[4] ?? 0);
  const share = total === totalBefore ? 0 : (busy - busyBefore) / (total - totalBefore);
  busyBefore = busy;
  totalBefore = total;
  return roundPercent(share);
}

async function readDisk() {
  const { bsize, blocks, bfree, bavail } = await statfs("/");
  const used = blocks - bfree;
  return {
    path: "/",
    total_bytes: blocks * bsize,
    free_bytes: bavail * bsize,
    percent_used: roundPercent(used / (used + bavail)),
  };
}

const app = fastify({ logger: false });
app.get("/livez", () => ({ status: "ok" }));
app.get("/api/v1/system/info", { schema: { response } }, async () => ({
  hostname: name,
  os,
  cpu: { ...processor, load_percent: readLoad() },
  memory: readMemory(),
  disk: await readDisk(),
}));
process.once("SIGTERM", () => void app.close().then(() => process.exit(0)));
await app.listen({ host: "127.0.0.1", port });
