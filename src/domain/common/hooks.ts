import type { HookEvent } from "#contract/plugins.ts";
import { DomainError } from "./error.ts";

/** What may be held back, and what has happened. */
export type PreEvent = Extract<HookEvent, `pre_${string}`>;
export type PostEvent = Exclude<HookEvent, PreEvent>;

/** What a hook is told: JSON, with snake_case names. */
export type HookSubject = Readonly<Record<string, unknown>>;

/** Who holds something back, and why, in words for people. */
export interface Veto {
  readonly hook: string;
  readonly reason: string;
}

/** Those who are asked before something is done, and told after it. Nothing of theirs ever throws. */
export interface Hooks {
  /** Who wants to know of an event, in the order in which they are called; costs nothing. */
  readonly names: (event: HookEvent) => readonly string[];
  /** Asks one after the other. @returns the first veto; undefined where nobody minds. */
  readonly ask: (event: PreEvent, subject: HookSubject) => Promise<Veto | undefined>;
  /** Resolves once all have been told. Who has something better to do need not wait. */
  readonly tell: (event: PostEvent, subject: HookSubject) => Promise<void>;
}

/** The refusal that a veto comes to. */
export const refusedBy = ({ hook, reason }: Veto, what: string): DomainError =>
  new DomainError("FORBIDDEN", `cannot ${what}: held back by ${hook}: ${reason}`, { hook, reason });

/** What a dry run says of those who would be asked first. */
export const askingSteps = (hooks: Pick<Hooks, "names">, event: PreEvent): readonly string[] =>
  hooks.names(event).map((name) => `ask the hook ${name} (${event})`);
