import type { NewError } from "#contract/updates.ts";
import { unreadNames } from "#domain/common/page.ts";
import { anyEntries, type JournalExploration, type Lacking } from "#domain/ports/journal.ts";
import { counted } from "#kernel/text.ts";

/** The least severe one that is an error: err. */
const errorPriority = 3;
const [mostListed, mostLooked] = [20, 1000];
/** Of the list so many are in a sentence, with so many characters of each. */
const [mostNamed, namedCharacters] = [3, 120];

export interface FoundErrors extends Lacking {
  readonly errors: readonly NewError[];
}

/** What the host logs as errors and had not logged before. */
export interface NewErrors {
  /**
   * Templates of errors that have entries between these times, in milliseconds since the epoch, and none before.
   * @throws JournalUnavailable
   */
  readonly between: (sinceMs: number, untilMs: number, signal: AbortSignal) => Promise<FoundErrors>;
}

export function createNewErrors(journal: Pick<JournalExploration, "templates">): NewErrors {
  return {
    async between(sinceMs, untilMs, signal) {
      const since = sinceMs * 1000;
      const before = { since: 0, until: since - 1, boot: undefined };
      const window = { since, until: untilMs * 1000 + 999, before };
      const wanted = { priority: errorPriority, status: "new", limit: mostLooked } as const;
      const { templates, unread } = await journal.templates({ ...anyEntries, ...window, ...wanted }, signal);
      // The journal may have removed the entries of one that is remembered.
      const unknown = templates.filter(({ firstError = since }) => firstError >= since);
      const errors = unknown.slice(0, mostListed).map(({ id, unit, text, priority, count }) => ({
        template: id,
        unit,
        text,
        priority: priority ?? errorPriority,
        count,
      }));
      return { errors, unread };
    },
  };
}

/** Names errors in a clause. */
function errorsText(errors: readonly NewError[]): string {
  const named = errors
    .slice(0, mostNamed)
    .map(({ unit, text }) => `${unit === "" ? "" : `${unit}: `}${text.slice(0, namedCharacters)}`);
  const rest = errors.length > mostNamed ? ` and ${errors.length - mostNamed} more` : "";
  return `${counted(errors.length, "kind")} of errors never logged before: ${named.join("; ")}${rest}`;
}

/** Clauses for a sentence: the errors that are new, and the files of the journal in which there may be others, or the same from before. */
export const newErrorsText = ({ errors, unread }: FoundErrors): readonly string[] => [
  ...(errors.length === 0 ? [] : [errorsText(errors)]),
  ...(unread.length === 0 ? [] : [`which errors are new is not certain, cannot read ${unreadNames(unread)}`]),
];
