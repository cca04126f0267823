import type { Probe } from "#domain/ports/probe.ts";
import { probeCollector, probeHttp, probePrometheus } from "./http.ts";
import type { HttpTarget } from "./request.ts";
import { probeTcp, type TcpTarget } from "./tcp.ts";
import { probeUnit, type ReadUnit } from "./unit.ts";

export type ProbeTarget =
  | (HttpTarget & {
      readonly kind: "http";
      readonly statuses?: readonly number[];
    })
  | (TcpTarget & { readonly kind: "tcp" })
  | { readonly kind: "unit"; readonly unit: string }
  | (HttpTarget & { readonly kind: "collector" | "prometheus" });

export function createComponentProbe(ports: { readonly target: ProbeTarget; readonly readUnit: ReadUnit }): Probe {
  const { target, readUnit } = ports;
  switch (target.kind) {
    case "http":
      return (signal) => probeHttp(target, signal);
    case "collector":
      return (signal) => probeCollector(target, signal);
    case "prometheus":
      return (signal) => probePrometheus(target, signal);
    case "tcp":
      return (signal) => probeTcp(target, signal);
    case "unit":
      return () => probeUnit(target.unit, readUnit);
  }
}
