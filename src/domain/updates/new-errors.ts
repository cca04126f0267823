import type { NewError } from "#contract/updates.ts";
import { anyEntries, type JournalExploration } from "#domain/ports/journal.ts";
import { counted } from "#kernel/text.ts";

/** The least severe one that is an error: err. */
const errorPriority = 3;
const [mostListed, mostLooked] = [20, 1000];
/** Of the list so many are in a sentence, with so many characters of each. */
const [mostNamed, namedCharacters] = [3, 120];

/** What the host logs as errors and had not logged before. */
export interface NewErrors {
  /**
   * Templates of errors that have entries between these times, in milliseconds since the epoch, and none before.
   * @throws JournalUnavailable
   */
  readonly between: (sinceMs: number, untilMs: number, signal: AbortSignal) => Promise<readonly NewError[]>;
}

export function createNewErrors(journal: Pick<JournalExploration, "templates">): NewErrors {
  return {
    async between(sinceMs, untilMs, signal) {
      const since = sinceMs * 1000;
      const before = { since: 0, until: since - 1, boot: undefined };
      const window = { since, until: untilMs * 1000 + 999, before };
      const wanted = { priority: errorPriority, status: "new", limit: mostLooked } as const;
      const { templates } = await journal.templates({ ...anyEntries, ...window, ...wanted }, signal);
      // The journal may have removed the entries of one that is remembered.
      const unknown = templates.filter(({ firstError = since }) => firstError >= since);
      return unknown.slice(0, mostListed).map(({ id, unit, text, priority, count }) => ({
        template: id,
        unit,
        text,
        priority: priority ?? errorPriority,
        count,
      }));
    },
  };
}

/** Names errors in a sentence. */
export function newErrorsText(errors: readonly NewError[]): string {
  const named = errors
    .slice(0, mostNamed)
    .map(({ unit, text }) => `${unit === "" ? "" : `${unit}: `}${text.slice(0, namedCharacters)}`);
  const rest = errors.length > mostNamed ? ` and ${errors.length - mostNamed} more` : "";
  return `${counted(errors.length, "kind")} of errors never logged before: ${named.join("; ")}${rest}`;
}
