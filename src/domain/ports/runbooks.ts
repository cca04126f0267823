import type { RunbookOrigin, RunbookSubject } from "#contract/runbooks.ts";

export interface Runbook {
  readonly id: string;
  readonly origin: RunbookOrigin;
  readonly title: string;
  /** With canonical names and patterns of units. */
  readonly appliesTo: readonly RunbookSubject[];
  /** Markdown. */
  readonly body: string;
}

export interface RunbookFault {
  readonly file: string;
  readonly reason: string;
}

export interface FoundRunbooks {
  /** Those of the administrator first, then the built-in ones that none of them replaces; each by id. */
  readonly runbooks: readonly Runbook[];
  /** Files and directories that are not used. */
  readonly faults: readonly RunbookFault[];
}

export interface Runbooks {
  /** As the files are now. What cannot be read is among the faults. */
  readonly read: (signal: AbortSignal) => Promise<FoundRunbooks>;
}

/** What somebody looks at: ids of checks, canonical names of units, ids of templates. */
export interface Subjects {
  readonly checks?: readonly string[];
  readonly units?: readonly string[];
  readonly templates?: readonly string[];
}

/** Those that apply to one of the subjects at least, in their order. @param isWithin whether a pattern covers a unit. */
export function runbooksFor<T extends { readonly appliesTo: readonly RunbookSubject[] }>(
  all: readonly T[],
  { checks = [], units = [], templates = [] }: Subjects,
  isWithin: (unit: string, pattern: string) => boolean,
): readonly T[] {
  const concerns = ({ check, unit, template }: RunbookSubject): boolean =>
    (check !== undefined && checks.includes(check)) ||
    (unit !== undefined && units.some((each) => isWithin(each, unit))) ||
    (template !== undefined && templates.includes(template));
  return all.filter(({ appliesTo }) => appliesTo.some(concerns));
}
