import type { Handlers } from "#contract/operation.ts";
import type { Window, windows } from "#contract/windows.ts";
import { DomainError, outsideWindow } from "#domain/common/error.ts";
import { wholeList } from "#domain/common/page.ts";
import { type Clock, toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import { isNamedIn, type Need, needText } from "./needs.ts";
import { expandScopes, scopesOn } from "./scopes.ts";
import { createPhases, type Phase, phaseAt, type WindowTimes } from "./windows.ts";

/** A window of the settings. */
export interface WindowPlan {
  readonly name: string;
  readonly times: WindowTimes;
  readonly cron: string;
  readonly timezone: string | undefined;
  /** Scopes, narrowed ones, sets and roles that are good only inside a window that names them here. */
  readonly allow: readonly string[];
  /** Those that are not good inside it. */
  readonly deny: readonly string[];
  readonly isSilent: boolean;
}

export interface Held {
  readonly window: string;
  readonly need: Need;
  readonly way: "outside" | "forbidden";
  /** When it is allowed again; null where that is not in sight. */
  readonly nextAt: number | null;
}

export type WindowGate = ReturnType<typeof createWindowGate>;

interface Rule extends WindowPlan {
  readonly phase: (at: number) => Phase;
}

/** Scopes of reads hold nothing back, whatever role or set brings them along. */
function rulesOf(plans: readonly WindowPlan[]): readonly Rule[] {
  const changing = (list: readonly string[]): readonly string[] => {
    const expanded = expandScopes(list);
    return "unknown" in expanded ? [] : expanded.scopes.filter((scope) => !/^[a-z-]+:read\b/.test(scope));
  };
  return plans.map((plan) => ({
    ...plan,
    allow: changing(plan.allow),
    deny: changing(plan.deny),
    phase: createPhases(plan.times),
  }));
}

/** Phases that are inspected in search of a time when something is allowed. */
const mostPhases = 500;

interface Relevant {
  readonly allowing: readonly Rule[];
  readonly denying: readonly Rule[];
}

const isAllowed = ({ allowing, denying }: Relevant, isOpen: (rule: Rule) => boolean): boolean =>
  !denying.some(isOpen) && (allowing.length === 0 || allowing.some(isOpen));

/** The first time from `at` on when something is allowed; null where none is in sight. */
function nextAllowed(relevant: Relevant, at: number): number | null {
  const rules = [...new Set([...relevant.allowing, ...relevant.denying])];
  const phases = new Map(rules.map((rule) => [rule, rule.phase(at)]));
  const isOpen = (rule: Rule): boolean => phases.get(rule)?.isOpen === true;
  let now = at;
  for (let left = mostPhases; left > 0; ) {
    if (isAllowed(relevant, isOpen)) return now;
    if (relevant.denying.some((rule) => isOpen(rule) && phases.get(rule)?.changesAt === undefined)) return null;
    const changes = [...phases.values()].flatMap(({ changesAt }) => changesAt ?? []);
    const next = Math.min(...changes);
    if (!Number.isFinite(next)) return null;
    now = next;
    for (const [rule, { changesAt }] of phases) {
      if (changesAt === undefined || changesAt > now) continue;
      phases.set(rule, phaseAt(rule.times, now));
      left -= 1;
    }
  }
  return null;
}

const keptForMs = 60_000;
const mostKept = 1000;

/** {@link nextAllowed}, remembered until then, or for a minute where no time is in sight: the search may take a tenth of a second. */
function createSearch() {
  const found = new Map<string, { readonly from: number; readonly nextAt: number | null }>();
  return (relevant: Relevant, need: Need, at: number): number | null => {
    const key = JSON.stringify([need.scope, need.resource, need.isRefinedLater]);
    const known = found.get(key);
    if (known !== undefined && at >= known.from && at < (known.nextAt ?? known.from + keptForMs)) return known.nextAt;
    if (found.size >= mostKept) found.clear();
    const nextAt = nextAllowed(relevant, at);
    found.set(key, { from: at, nextAt });
    return nextAt;
  };
}

function heldBy(relevant: Relevant, need: Need, at: number, search: ReturnType<typeof createSearch>): Held | undefined {
  const isOpen = (rule: Rule): boolean => rule.phase(at).isOpen;
  if (isAllowed(relevant, isOpen)) return undefined;
  const nextAt = search(relevant, need, at);
  const denying = relevant.denying.find(isOpen);
  if (denying !== undefined) return { window: denying.name, need, way: "forbidden", nextAt };
  const opensAt = (rule: Rule): number => rule.phase(at).changesAt ?? Number.POSITIVE_INFINITY;
  const [first] = relevant.allowing.toSorted((a, b) => opensAt(a) - opensAt(b));
  return first && { window: first.name, need, way: "outside", nextAt };
}

export const overrideHeader = "X-Window-Override";

/** What a refusal says, and a plan of it. */
export function heldMessage({ window, need, way, nextAt }: Held): string {
  const where = way === "outside" ? `outside the window ${window}` : `inside the window ${window}, which forbids it`;
  const again =
    nextAt === null ? "no time at which it is allowed is in sight" : `it is allowed from ${toTimestamp(nextAt)} on`;
  return `cannot use ${needText(need)} ${where}: ${again} (a key with windows:override may say why it is needed now, in ${overrideHeader})`;
}

export const heldDetails = ({ window, nextAt }: Pick<Held, "window" | "nextAt">) => ({
  window,
  next_window: toNullableTimestamp(nextAt),
});

export const windowRefusal = (held: Held): DomainError =>
  new DomainError("CONFLICT", heldMessage(held), {
    reason: outsideWindow,
    ...heldDetails(held),
    scope: needText(held.need),
  });

/** Where a role or a set is written, people recognise what they wrote: lists are shown as given. */
export interface WindowState {
  readonly plan: WindowPlan;
  readonly phase: Phase;
  /** The opening after the present or the coming one closes; undefined where none is in sight. */
  readonly opensNextAt: number | undefined;
}

function opensNext({ times }: Rule, { isOpen, changesAt }: Phase): number | undefined {
  if (!isOpen || changesAt === undefined) return changesAt;
  return phaseAt(times, changesAt).changesAt;
}

/** Holds calls back that windows of the settings allow only inside, or forbid inside. */
export function createWindowGate(ports: {
  readonly windows: readonly WindowPlan[];
  readonly clock: Pick<Clock, "now">;
  readonly hostName: () => string;
}) {
  const { clock, hostName } = ports;
  let given = ports.windows;
  let rules = rulesOf(given);
  let search = createSearch();
  return {
    /** Undefined where nothing holds it back. */
    held: (need: Need): Held | undefined => {
      if (rules.length === 0) return undefined;
      const allowing = rules.filter(({ allow }) => isNamedIn(scopesOn(allow, hostName), need));
      const denying = rules.filter(({ deny }) => isNamedIn(scopesOn(deny, hostName), need));
      return heldBy({ allowing, denying }, need, clock.now(), search);
    },
    /** Windows that name what a call needs, and are open: why it is allowed now. */
    openFor: (need: Need): readonly WindowState[] => {
      const now = clock.now();
      const open = rules.filter((rule) => isNamedIn(scopesOn(rule.allow, hostName), need) && rule.phase(now).isOpen);
      return open.map((rule) => ({ plan: rule, phase: rule.phase(now), opensNextAt: undefined }));
    },
    list: (): readonly WindowState[] => {
      const now = clock.now();
      return rules.map((rule, at) => {
        const phase = rule.phase(now);
        return { plan: given[at] ?? rule, phase, opensNextAt: opensNext(rule, phase) };
      });
    },
    /** The open windows in which nobody is notified of alerts and checks. */
    silent: (): readonly WindowState[] => {
      const now = clock.now();
      const open = rules.filter((rule) => rule.isSilent && rule.phase(now).isOpen);
      return open.map((rule) => ({ plan: rule, phase: rule.phase(now), opensNextAt: undefined }));
    },
    isSilent: (): boolean => {
      const now = clock.now();
      return rules.some((rule) => rule.isSilent && rule.phase(now).isOpen);
    },
    replace: (windows: readonly WindowPlan[]): void => {
      given = windows;
      rules = rulesOf(given);
      search = createSearch();
    },
  };
}

const toWindow = ({ plan, phase, opensNextAt }: WindowState): Window => ({
  name: plan.name,
  open: phase.isOpen,
  opened_at: toNullableTimestamp(phase.openedAt ?? null),
  closes_at: toNullableTimestamp((phase.isOpen ? phase.changesAt : undefined) ?? null),
  opens_next_at: toNullableTimestamp(opensNextAt ?? null),
  cron: plan.cron,
  timezone: plan.timezone ?? null,
  duration_seconds: Math.round(plan.times.durationMs / 1000),
  delay_seconds: Math.round(plan.times.delayMs / 1000),
  allow: [...plan.allow],
  deny: [...plan.deny],
  silence: plan.isSilent,
});

export const windowHandlers = (gate: Pick<WindowGate, "list">): Handlers<typeof windows> => ({
  listWindows() {
    const all = gate.list();
    return { windows: all.map(toWindow), ...wholeList(all.length) };
  },
});
