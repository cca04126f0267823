import type { Handlers } from "#contract/operation.ts";
import type { rebooting } from "#contract/reboot.ts";
import { DomainError, invalid, readTime } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { RebootSchedule, Reboots } from "#domain/ports/reboots.ts";
import { type Clock, toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";

/** Time for the answer to leave, and for a change of mind. */
const soonMs = 5_000;
export const furthestRebootMs = 30 * 24 * 60 * 60 * 1000;

interface Obstacle {
  readonly reason: string;
  readonly details: Readonly<Record<string, unknown>>;
}

function obstacleTo(
  { scheduledAt, kind, inhibitors }: RebootSchedule,
  ignoresInhibitors: boolean,
  operationId: string | undefined,
): Obstacle | undefined {
  if (operationId !== undefined)
    return {
      reason: "packages or snapshots are being changed (try again when that is done)",
      details: { operation_id: operationId, retryable: true },
    };
  if (scheduledAt !== null)
    return {
      reason: `a ${kind} is scheduled for ${toTimestamp(scheduledAt)} (cancel it first)`,
      details: { scheduled_at: toTimestamp(scheduledAt) },
    };
  const blocking = ignoresInhibitors ? [] : inhibitors.filter(({ blocks }) => blocks);
  if (blocking.length === 0) return undefined;
  const names = blocking.map(({ who, why }) => `${who}: ${why}`);
  return { reason: `it is inhibited by ${names.join(", ")}`, details: { inhibitors: names, retryable: true } };
}

export interface RebootPorts {
  readonly reboots: Reboots;
  /** Id of an operation that changes packages or snapshots now. */
  readonly busyWith: () => string | undefined;
  readonly clock: Pick<Clock, "now">;
}

export function rebootHandlers(ports: RebootPorts) {
  const { reboots, busyWith, clock } = ports;

  const timeOf = (text: string | undefined): number => {
    const now = clock.now();
    if (text === undefined) return now + soonMs;
    const at = readTime("at", text);
    if (at <= now) throw invalid("at", "is in the past");
    if (at > now + furthestRebootMs) throw invalid("at", "is more than 30 days ahead");
    return at;
  };

  /** @throws DomainError `CONFLICT` while something is in the way. */
  const schedule = async (
    at: number,
    { message, ignoresInhibitors, state }: { message: string; ignoresInhibitors: boolean; state: RebootSchedule },
    signal: AbortSignal,
  ): Promise<void> => {
    const obstacle = obstacleTo(state, ignoresInhibitors, busyWith());
    if (obstacle !== undefined)
      throw new DomainError("CONFLICT", `cannot reboot: ${obstacle.reason}`, obstacle.details);
    await reboots.schedule(at, { message, ignoresInhibitors }, signal);
  };

  const handlers: Handlers<typeof rebooting> = {
    async getReboot(_input, context) {
      const { scheduledAt, kind, users, inhibitors } = await reboots.state(context.signal());
      return {
        scheduled_at: toNullableTimestamp(kind === "reboot" ? scheduledAt : null),
        users: [...users],
        inhibitors: inhibitors.map((each) => ({ ...each })),
        operation_id: busyWith() ?? null,
      };
    },

    async rebootHost({ query, body }, context) {
      const { message = "", ignore_inhibitors: ignoresInhibitors = false } = body;
      const at = timeOf(body.at);
      const signal = context.signal();
      const state = await reboots.state(signal);
      if (query.dry_run) {
        const obstacle = obstacleTo(state, ignoresInhibitors, busyWith());
        if (obstacle !== undefined) return createPlan([], { reason: obstacle.reason });
        const { users, inhibitors } = state;
        // Where logind is passed by, it waits for nobody.
        const isForced = inhibitors.some(({ blocks }) => blocks);
        return createPlan([
          ...(users.length > 0 ? [`end the sessions of ${users.join(", ")}`] : []),
          ...inhibitors.map(
            ({ who, why, blocks }) => `${blocks || isForced ? "interrupt" : "wait some seconds for"} ${who}: ${why}`,
          ),
          body.at === undefined ? "reboot at once" : `reboot at ${toTimestamp(at)}`,
        ]);
      }
      await schedule(at, { message, ignoresInhibitors, state }, signal);
      const scheduledAt = toTimestamp(at);
      context.touched({ at: scheduledAt });
      return { success: true, message: `the host reboots at ${scheduledAt}`, scheduled_at: scheduledAt };
    },

    async cancelReboot({ query }, context) {
      const signal = context.signal();
      const { scheduledAt, kind } = await reboots.state(signal);
      if (scheduledAt === null || kind !== "reboot")
        throw new DomainError("NOT_FOUND", "cannot cancel a reboot: none is scheduled");
      const at = toTimestamp(scheduledAt);
      if (query.dry_run) return createPlan([`cancel the reboot at ${at}`]);
      await reboots.cancel(signal);
      return { success: true, message: `the reboot at ${at} is cancelled`, scheduled_at: at };
    },
  };
  return {
    handlers,
    /** For the service itself. @throws DomainError `CONFLICT` while something is in the way. */
    reboot: async (at: number, message: string, signal: AbortSignal): Promise<void> =>
      schedule(at, { message, ignoresInhibitors: false, state: await reboots.state(signal) }, signal),
  };
}
