import type { Hostname, HostTime, hostSettings } from "#contract/host-settings.ts";
import type { Context, Handlers } from "#contract/operation.ts";
import { invalid } from "#domain/common/error.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { createPlan } from "#domain/common/plan.ts";
import {
  type HostNameChange,
  type HostNameState,
  type HostNames,
  HostSettingsUnavailable,
  type TimeChange,
  type TimeSettings,
  type TimeState,
} from "#domain/ports/host-settings.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";

/** Names that mean every host itself; systemd keeps them, and gives them to no host. */
const isLoopbackName = (name: string): boolean => /(^|\.)localhost(\.localdomain)?$/i.test(name);

const showTime = (state: TimeState, now: number): HostTime => ({
  time: toTimestamp(now),
  timezone: state.timezone,
  ntp: state.isSyncEnabled,
  ntp_available: state.canSync,
  ntp_synchronized: state.isSynchronised,
  rtc_in_local_time: state.isRtcLocal,
});

const showNames = ({ current, permanent, pretty }: HostNameState): Hostname => ({
  hostname: current,
  static_hostname: permanent,
  pretty_hostname: pretty,
});

/** One member of the request that differs from the host, with what is sent for it alone. */
interface Step<Change> {
  readonly member: string;
  readonly doing: string;
  readonly done: string;
  readonly change: Change;
}
type Described = Omit<Step<unknown>, "change">;

const messageOf = (steps: readonly Described[]): string =>
  steps.length === 0 ? "nothing was changed: already set" : steps.map(({ done }) => done).join(", ");

const planOf = (steps: readonly Described[]) =>
  createPlan(
    steps.map(({ doing }) => doing),
    steps.length === 0 ? { reason: "already set" } : {},
  );

const outcomeOf = (steps: readonly Described[]) => ({
  success: true,
  message: messageOf(steps),
  changed: steps.map(({ member }) => member),
});

/**
 * Makes the changes one after the other, so that the audit log has those that were made before one failed.
 * @throws what a change throws, with those before it in its message.
 */
async function apply<Change>(
  steps: readonly Step<Change>[],
  set: (change: Change, signal: AbortSignal) => Promise<void>,
  context: Context,
): Promise<void> {
  const made: Step<Change>[] = [];
  for (const step of steps) {
    try {
      await set(step.change, context.signal());
    } catch (error) {
      if (made.length === 0 || !(error instanceof HostUnavailable)) throw error;
      throw new HostUnavailable(`${error.message} (changed before: ${messageOf(made)})`, error.details, error);
    }
    made.push(step);
    context.touched(Object.fromEntries(made.map(({ member, done }) => [member, done])));
  }
}

function timeSteps({ timezone, ntp }: TimeChange, state: TimeState): readonly Step<TimeChange>[] {
  const steps: Step<TimeChange>[] = [];
  if (timezone !== undefined && timezone !== state.timezone) {
    const what = `time zone from ${state.timezone} to ${timezone}`;
    steps.push({ member: "timezone", doing: `change the ${what}`, done: `changed the ${what}`, change: { timezone } });
  }
  if (ntp !== undefined && ntp !== state.isSyncEnabled) {
    const how = ntp ? "on" : "off";
    const doing = `switch time synchronisation ${how}`;
    steps.push({ member: "ntp", doing, done: `time synchronisation switched ${how}`, change: { ntp } });
  }
  return steps;
}

const quoted = (text: string): string => (text === "" ? "none" : JSON.stringify(text));

function nameSteps({ hostname, pretty }: HostNameChange, state: HostNameState): readonly Step<HostNameChange>[] {
  const steps: Step<HostNameChange>[] = [];
  if (hostname !== undefined && (hostname !== state.current || hostname !== state.permanent)) {
    const former = state.permanent || state.current;
    steps.push({
      member: "hostname",
      doing: `rename the host from ${former} to ${hostname}`,
      done: `the host is called ${hostname}, and was called ${former}`,
      change: { hostname },
    });
  }
  if (pretty !== undefined && pretty !== state.pretty) {
    const what = `pretty name from ${quoted(state.pretty)} to ${quoted(pretty)}`;
    steps.push({ member: "pretty", doing: `change the ${what}`, done: `changed the ${what}`, change: { pretty } });
  }
  return steps;
}

export function hostSettingsHandlers({
  time,
  names,
  clock,
}: {
  readonly time: TimeSettings;
  readonly names: HostNames;
  readonly clock: Pick<Clock, "now">;
}): Handlers<typeof hostSettings> {
  const planTime = async (change: TimeChange, signal: AbortSignal) => {
    const state = await time.state(signal);
    const steps = timeSteps(change, state);
    const { timezone } = change;
    const isNew = timezone !== undefined && timezone !== state.timezone;
    if (isNew && !(await time.timezones(signal)).includes(timezone))
      throw invalid("timezone", `the host has no time zone ${timezone} (timedatectl list-timezones has them)`);
    if (change.ntp === true && !state.canSync)
      throw new HostSettingsUnavailable(
        "time service",
        "no time service is there that systemd could switch on (install systemd-timesyncd or chrony)",
        { retryable: false },
      );
    return { state, steps };
  };

  return {
    getTime: async (_input, context) => showTime(await time.state(context.signal()), clock.now()),

    async setTime({ query, body }, context) {
      const signal = context.signal();
      if (body.timezone === undefined && body.ntp === undefined) throw invalid("timezone", "give it, or ntp, or both");
      const { state, steps } = await planTime(defined(body), signal);
      if (query.dry_run) return planOf(steps);
      await apply(steps, time.set, context);
      const now = steps.length > 0 ? await time.state(signal) : state;
      return { ...showTime(now, clock.now()), ...outcomeOf(steps) };
    },

    getHostname: async (_input, context) => showNames(await names.state(context.signal())),

    async setHostname({ query, body }, context) {
      const signal = context.signal();
      const { hostname, pretty } = body;
      if (hostname === undefined && pretty === undefined) throw invalid("hostname", "give it, or pretty, or both");
      if (hostname !== undefined && isLoopbackName(hostname))
        throw invalid("hostname", "this name means every host itself");
      const state = await names.state(signal);
      const steps = nameSteps(defined({ hostname, pretty }), state);
      if (query.dry_run) return planOf(steps);
      await apply(steps, names.set, context);
      return { ...showNames(steps.length > 0 ? await names.state(signal) : state), ...outcomeOf(steps) };
    },
  };
}
