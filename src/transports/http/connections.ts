import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Metrics } from "#telemetry/metrics.ts";

const maxConnections = 4096;
const keptFiles = 128;

/** Soft limit of open files of this process; what is kept back is for files, the bus and commands. */
function connectionCap(): number {
  const softLimit = Number(
    /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? maxConnections,
  );
  return Math.max(16, Math.min(maxConnections, softLimit - keptFiles));
}

/** Bounds the number of connections and knows every one, those too that never became HTTP or no longer are. */
export function watchConnections(
  server: Server,
  metrics: Pick<Metrics, "watchConnections">,
): { readonly cut: () => void } {
  server.maxConnections = connectionCap();
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  metrics.watchConnections(() => open.size);
  return {
    cut() {
      for (const socket of open) socket.destroy();
    },
  };
}
