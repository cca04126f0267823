import type { Hostname, HostTime, hostSettings } from "#contract/host-settings.ts";
import type { Handlers } from "#contract/operation.ts";
import { invalid } from "#domain/common/error.ts";
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

/** What is to be done: members of the request, each with a step in words. */
interface Step {
  readonly member: string;
  readonly doing: string;
  readonly done: string;
}

const messageOf = (steps: readonly Step[]): string =>
  steps.length === 0 ? "nothing was changed: it is so already" : steps.map(({ done }) => done).join(", ");

const planOf = (steps: readonly Step[]) =>
  createPlan(
    steps.map(({ doing }) => doing),
    steps.length === 0 ? { reason: "it is so already" } : {},
  );

const outcomeOf = (steps: readonly Step[]) => ({
  success: true,
  message: messageOf(steps),
  changed: steps.map(({ member }) => member),
});

function timeSteps({ timezone, ntp }: TimeChange, state: TimeState): readonly Step[] {
  const steps: Step[] = [];
  if (timezone !== undefined && timezone !== state.timezone) {
    const what = `time zone from ${state.timezone} to ${timezone}`;
    steps.push({ member: "timezone", doing: `change the ${what}`, done: `${what}` });
  }
  if (ntp !== undefined && ntp !== state.isSyncEnabled) {
    const how = ntp ? "on" : "off";
    const doing = `switch time synchronisation ${how}`;
    steps.push({ member: "ntp", doing, done: `time synchronisation switched ${how}` });
  }
  return steps;
}

const quoted = (text: string): string => (text === "" ? "none" : JSON.stringify(text));

function nameSteps({ hostname, pretty }: HostNameChange, state: HostNameState): readonly Step[] {
  const steps: Step[] = [];
  if (hostname !== undefined && (hostname !== state.current || hostname !== state.permanent)) {
    const former = state.permanent || state.current;
    steps.push({
      member: "hostname",
      doing: `rename the host from ${former} to ${hostname}`,
      done: `the host is called ${hostname}, and was called ${former}`,
    });
  }
  if (pretty !== undefined && pretty !== state.pretty) {
    const what = `pretty name from ${quoted(state.pretty)} to ${quoted(pretty)}`;
    steps.push({ member: "pretty", doing: `change the ${what}`, done: what });
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
        "no time service is installed that could be switched on (such as systemd-timesyncd or chrony)",
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
      const isChanged = (member: string): boolean => steps.some((step) => step.member === member);
      if (steps.length > 0) {
        await time.set(
          defined({
            timezone: isChanged("timezone") ? body.timezone : undefined,
            ntp: isChanged("ntp") ? body.ntp : undefined,
          }),
          signal,
        );
        context.touched(Object.fromEntries(steps.map(({ member, done }) => [member, done])));
      }
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
      const isChanged = (member: string): boolean => steps.some((step) => step.member === member);
      if (steps.length > 0) {
        await names.set(
          defined({
            hostname: isChanged("hostname") ? hostname : undefined,
            pretty: isChanged("pretty") ? pretty : undefined,
          }),
          signal,
        );
        context.touched(Object.fromEntries(steps.map(({ member, done }) => [member, done])));
      }
      return { ...showNames(steps.length > 0 ? await names.state(signal) : state), ...outcomeOf(steps) };
    },
  };
}
