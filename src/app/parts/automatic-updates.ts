import { openAutomaticRuns } from "#adapters/automatic-runs/index.ts";
import { createCalendar } from "#adapters/calendar/index.ts";
import type { PartContext } from "#app/part.ts";
import { automaticPlan } from "#config/automatic.ts";
import type { AutomaticUpdates, automaticNotifications, automaticUpdates } from "#contract/automatic-updates.ts";
import type { Handlers } from "#contract/operation.ts";
import { windowRefusal } from "#domain/access/window-gate.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import { type AutomaticUpdateEvent, automaticDraft, componentChannels } from "#domain/notifications/messages.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import type { Units } from "#domain/ports/units.ts";
import type { AutomaticRun, AutomaticRuns } from "#domain/ports/updates.ts";
import { type AutomaticPlan, createAutomaticUpdates } from "#domain/updates/automatic.ts";
import type { Dispose } from "#kernel/clock.ts";
import type { AdministrationPart } from "./administration.ts";
import type { AlertsPart } from "./alerts.ts";
import { spreadOf, type WindowsPart } from "./gates.ts";
import type { UpdatesPart } from "./updates.ts";

export type Automatic = AutomaticPlan & { readonly notify: (typeof automaticNotifications)[number] };

const isGood = ({ outcome }: AutomaticRun): boolean => outcome === "installed" || outcome === "nothing";

/** Whether people are notified: not that there was nothing to do, again. */
function isNotified({ notify }: Automatic, run: AutomaticRun, isChange: boolean): boolean {
  if (notify === "never" || run.outcome === "nothing") return notify === "changes" && run.rebootAt !== null;
  return isGood(run) ? notify === "changes" : isChange;
}

const off: AutomaticUpdates = {
  enabled: false,
  what: null,
  guard: false,
  reboot: "never",
  blocked: null,
  next: null,
  last: null,
};

interface Earlier {
  readonly updates: Pick<UpdatesPart, "automatic" | "host">;
  readonly system: { readonly units: Pick<Units, "states"> };
  readonly administration: Pick<AdministrationPart, "reboot">;
  readonly audit: { readonly log: Pick<AuditLog, "record"> };
  readonly windows: Pick<WindowsPart, "gate">;
  readonly alerts: Pick<AlertsPart, "post">;
}

interface AutomaticAdapters {
  /** Undefined where they are off. */
  readonly plan: Automatic | undefined;
  readonly runs: AutomaticRuns;
  /** Of a host, for when a window opens: from 0 to 1. */
  readonly spread: (opensAt: number) => number;
}

function openAutomatic({ config, log, hostName }: PartContext): AutomaticAdapters {
  const given = automaticPlan(config.settings);
  const spread = (opensAt: number): number => spreadOf(hostName(), String(opensAt));
  if (given === undefined) return { plan: undefined, runs: { last: () => undefined, save: () => undefined }, spread };
  const runs = openAutomaticRuns({
    stateDir: config.stateDir,
    onTrouble: (error) => log.warn({ err: error }, "cannot store the record of automatic updates"),
  });
  return { plan: { ...given, calendar: createCalendar(given.times) }, runs, spread };
}

/** Updates that windows of the settings begin. */
export function automaticPart(context: PartContext, earlier: Earlier, adapters = openAutomatic(context)) {
  const { clock, log, hostName } = context;
  const { updates, system, administration, audit, windows, alerts } = earlier;
  const { plan, runs, spread } = adapters;
  if (plan === undefined) {
    const handlers: Handlers<typeof automaticUpdates> = { getAutomaticUpdates: () => off };
    return { handlers };
  }
  const automatic = createAutomaticUpdates({
    ...updates.automatic,
    host: updates.host,
    units: system.units,
    reboot: administration.reboot,
    clock,
    plan,
    runs,
    spread,
    heldBack(scope) {
      const held = windows.gate.held({ scope, resource: undefined });
      return held && windowRefusal(held);
    },
    onEnd(run, isChange) {
      const { outcome, message, operationId, rebootAt } = run;
      log[isGood(run) ? "info" : "warn"]({ outcome, reason: message, operation_id: operationId }, "automatic updates");
      const target = { outcome, ...(rebootAt !== null && { reboot_at: new Date(rebootAt).toISOString() }) };
      const rest = { outcome: isGood(run) ? "ok" : "failed", target, operation_id: operationId } as const;
      audit.log.record(auditEvent("updates.automatic", clock.now(), rest));
      const event: AutomaticUpdateEvent = { isGood: isGood(run), what: plan.what, message };
      if (isNotified(plan, run, isChange))
        alerts.post(automaticDraft(event, hostName(), clock.now()), componentChannels);
    },
  });
  const handlers: Handlers<typeof automaticUpdates> = {
    getAutomaticUpdates: (_input, context) => automatic.state(context.signal()),
  };
  let stopLooking: Dispose = () => undefined;
  return {
    handlers,
    start(): void {
      stopLooking = automatic.start((error) => log.error({ err: error }, "automatic updates failed"));
    },
    stop(): void {
      stopLooking();
      automatic.stop();
    },
  };
}
