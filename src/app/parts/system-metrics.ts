import { createHostFiles } from "#adapters/host-files/index.ts";
import { createHostSampler } from "#adapters/procfs/host-sampler.ts";
import { openRingStore } from "#adapters/ring-store/index.ts";
import { pressureIn } from "#domain/health/checks/pressure.ts";
import { systemMetricHandlers } from "#domain/system/metrics/handlers.ts";
import { createMetricSampler } from "#domain/system/metrics/sampler.ts";
import type { PartContext } from "../part.ts";
import type { BuiltHost } from "./system.ts";

export function createSystemMetricsPart(ports: Parameters<typeof createMetricSampler>[0] & Pick<PartContext, "clock">) {
  const sampler = createMetricSampler(ports);
  return {
    handlers: systemMetricHandlers({ ...ports, sampler }),
    start: sampler.start,
    stop: sampler.stop,
    dispose: sampler.save,
  };
}

export type SystemMetricsPart = ReturnType<typeof createSystemMetricsPart>;

export const buildSystemMetricsPart = ({ config, clock, log }: PartContext, { facts }: Pick<BuiltHost, "facts">) =>
  createSystemMetricsPart({
    clock,
    host: createHostSampler({ host: facts, pressure: () => pressureIn(createHostFiles()) }),
    store: openRingStore({
      stateDir: config.stateDir,
      onUnreadable: (error) => log.warn({ err: error }, "metrics of the host unreadable, reset"),
      onUnsaved: (error) => log.warn({ err: error }, "cannot save the metrics of the host"),
    }),
  });
