import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { createCalendar } from "#adapters/calendar/index.ts";
import type { PartContext } from "#app/part.ts";
import type { Config } from "#config/load.ts";
import { windowSettings } from "#config/windows.ts";
import { createWindowGate, type WindowPlan, windowHandlers } from "#domain/access/window-gate.ts";

export function createWindowsPart(
  ports: Pick<PartContext, "clock"> & {
    readonly windows: readonly WindowPlan[];
    readonly hostName: () => string;
  },
) {
  const gate = createWindowGate(ports);
  return { handlers: windowHandlers(gate), gate };
}

/** The same for a host and a window whenever it is asked for. */
const spreadOf = (host: string, window: string): number =>
  createHash("sha256").update(`${host} ${window}`).digest().readUInt32BE() / 2 ** 32;

const plansOf = ({ settings }: Pick<Config, "settings">): readonly WindowPlan[] =>
  windowSettings(settings).map(({ times, durationMs, jitterMs, ...rest }) => {
    const delayMs = Math.floor((jitterMs * spreadOf(hostname(), rest.name)) / 1000) * 1000;
    return { ...rest, times: { calendar: createCalendar(times), durationMs, delayMs } };
  });

export function buildWindowsPart({ config, clock }: PartContext) {
  const part = createWindowsPart({ clock, windows: plansOf(config), hostName: hostname });
  return { ...part, reload: (next: Config): void => part.gate.replace(plansOf(next)) };
}

export type WindowsPart = ReturnType<typeof createWindowsPart>;
