import type { Handlers } from "#contract/operation.ts";
import type { processes } from "#contract/processes.ts";
import type { Processes } from "#domain/ports/processes.ts";
import { createProcessList } from "./process-list.ts";
import { createSignals, type SignalPorts } from "./process-signal.ts";

export function processHandlers(ports: SignalPorts & { readonly processes: Processes }): Handlers<typeof processes> {
  const list = createProcessList(ports);
  const signal = createSignals(ports);
  return {
    listProcesses: ({ query }, context) => list(query, context),
    signalProcess: (input, context) => signal(input, context),
  };
}
