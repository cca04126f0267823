import type { HookEvent } from "#contract/plugins.ts";
import { DomainError } from "./error.ts";

export type PreEvent = Extract<HookEvent, `pre_${string}`>;
export type PostEvent = Exclude<HookEvent, PreEvent>;

/** Arguments of a hook: JSON with snake_case names. */
export type HookSubject = Readonly<Record<string, unknown>>;

export interface Veto {
  readonly hook: string;
  readonly reason: string;
}

/** Called before and after something is done; never throws. */
export interface Hooks {
  readonly names: (event: HookEvent) => readonly string[];
  /** Calls one after the other. @returns the first veto, if any. */
  readonly ask: (event: PreEvent, subject: HookSubject) => Promise<Veto | undefined>;
  readonly notify: (event: PostEvent, subject: HookSubject) => Promise<void>;
}

export const refusedBy = ({ hook, reason }: Veto, what: string): DomainError =>
  new DomainError("FORBIDDEN", `cannot ${what}: held back by ${hook}: ${reason}`, { hook, reason });

export const askingSteps = (hooks: Pick<Hooks, "names">, event: PreEvent): readonly string[] =>
  hooks.names(event).map((name) => `ask the hook ${name} (${event})`);
