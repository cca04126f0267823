import { connect } from "node:net";
import type { ProbeResult } from "#domain/ports/probe.ts";
import { checkHost, lookup, worded } from "./request.ts";

export interface TcpTarget {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
}

export async function probeTcp(target: TcpTarget, signal: AbortSignal): Promise<ProbeResult> {
  const { host, port, timeoutMs } = target;
  checkHost(host);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, lookup, autoSelectFamily: true });
    const end = (work: () => void): void => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      work();
    };
    const onAbort = (): void => end(() => reject(new Error("given up")));
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort);
    socket.setTimeout(timeoutMs, () => end(() => reject(new Error(`no connection within ${timeoutMs / 1000} s`))));
    socket.once("error", (error) => end(() => reject(worded(error))));
    socket.once("connect", () => end(() => resolve({ healthy: true, expected: true })));
  });
}
