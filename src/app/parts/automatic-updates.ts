import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { openAutomaticRuns } from "#adapters/automatic-runs/index.ts";
import { createCalendar } from "#adapters/calendar/index.ts";
import type { PartContext } from "#app/part.ts";
import { automaticPlan } from "#config/automatic.ts";
import type { AutomaticUpdates, automaticNews, automaticUpdates } from "#contract/automatic-updates.ts";
import type { Handlers } from "#contract/operation.ts";
import { type WindowGate, windowRefusal } from "#domain/access/window-gate.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import { type AutomaticNews, automaticDraft, componentChannels } from "#domain/notifications/messages.ts";
import type { Outbox } from "#domain/notifications/outbox.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import type { HostUpdates } from "#domain/ports/snapshots.ts";
import type { Units } from "#domain/ports/units.ts";
import type { AutomaticRun, AutomaticRuns } from "#domain/ports/updates.ts";
import { type AutomaticPlan, type AutomaticPorts, createAutomaticUpdates } from "#domain/updates/automatic.ts";
import type { Dispose } from "#kernel/clock.ts";

export type Automatic = AutomaticPlan & { readonly notify: (typeof automaticNews)[number] };

const isGood = ({ outcome }: AutomaticRun): boolean => outcome === "installed" || outcome === "nothing";

/** Whether somebody is to be told: that there was nothing to do is no news. */
function isTold({ notify }: Automatic, run: AutomaticRun, isNews: boolean): boolean {
  if (notify === "never" || run.outcome === "nothing") return notify === "changes" && run.rebootAt !== null;
  return isGood(run) ? notify === "changes" : isNews;
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

export function createAutomaticPart(
  ports: Pick<PartContext, "clock" | "log"> &
    Pick<AutomaticPorts, "apply" | "hasBegun" | "reboot" | "spread"> & {
      readonly plan: Automatic | undefined;
      readonly host: () => Promise<HostUpdates | undefined>;
      readonly units: Pick<Units, "states">;
      readonly runs: AutomaticRuns;
      readonly audit: Pick<AuditLog, "record">;
      readonly post: Outbox["post"];
      readonly hostName: string;
      readonly windows: Pick<WindowGate, "held">;
    },
) {
  const { plan, clock, log, audit, post, hostName, windows } = ports;
  if (plan === undefined) {
    const handlers: Handlers<typeof automaticUpdates> = { getAutomaticUpdates: () => off };
    return { handlers };
  }
  const automatic = createAutomaticUpdates({
    ...ports,
    plan,
    heldBack(scope) {
      const held = windows.held({ scope, resource: undefined });
      return held && windowRefusal(held);
    },
    onEnd(run, isNews) {
      const { outcome, message, operationId, rebootAt } = run;
      log[isGood(run) ? "info" : "warn"]({ outcome, reason: message, operation_id: operationId }, "automatic updates");
      const target = { outcome, ...(rebootAt !== null && { reboot_at: new Date(rebootAt).toISOString() }) };
      const rest = { outcome: isGood(run) ? "ok" : "failed", target, operation_id: operationId } as const;
      audit.record(auditEvent("updates.automatic", clock.now(), rest));
      const news: AutomaticNews = { isGood: isGood(run), what: plan.what, message };
      if (isTold(plan, run, isNews)) post(automaticDraft(news, hostName, clock.now()), componentChannels);
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

/** The same for a host and an opening whenever it is asked for. */
const spreadOf =
  (host: string) =>
  (opensAt: number): number =>
    createHash("sha256").update(`${host} ${opensAt}`).digest().readUInt32BE() / 2 ** 32;

export function buildAutomaticPart(
  context: PartContext,
  ports: Omit<Parameters<typeof createAutomaticPart>[0], keyof PartContext | "plan" | "runs" | "spread" | "hostName">,
) {
  const { config, log } = context;
  const given = automaticPlan(config.settings);
  const plan = given && { ...given, calendar: createCalendar(given.times) };
  const runs =
    plan === undefined
      ? { last: () => undefined, save: () => undefined }
      : openAutomaticRuns({
          stateDir: config.stateDir,
          onTrouble: (error) => log.warn({ err: error }, "record of automatic updates not kept"),
        });
  return createAutomaticPart({ ...context, ...ports, plan, runs, spread: spreadOf(hostname()), hostName: hostname() });
}
