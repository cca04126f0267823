import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type Answer, call } from "../api/call.ts";
import { Link } from "../router.tsx";
import { texts } from "../texts/logs.ts";
import { local } from "../ui/format.ts";
import { Empty, Loading, NotShown, Problem } from "../ui/parts.tsx";
import { dayAndTime, type Entry, entryTone, kept } from "./entry.ts";
import { follow } from "./follow.ts";

const epoch = "1970-01-01T00:00:00Z";
/** Lines that change more often than this cannot be read. */
const paintEveryMs = 250;

const Line = ({ entry }: { readonly entry: Entry }): JSX.Element => (
  <li class={`entry ${entryTone(entry.priority)}`}>
    <time dateTime={entry.timestamp} title={local(entry.timestamp)}>
      {dayAndTime(entry.timestamp).join(" ").slice(0, -4)}
    </time>
    <span>
      {entry.priority <= 4 && <b>{texts.priorities[entry.priority]} </b>}
      {entry.message}
    </span>
  </li>
);

/** The last entries of a unit, and those that it writes while somebody looks. */
export function UnitLog({ unit, lines = 50 }: { readonly unit: string; readonly lines?: number }): JSX.Element {
  const entries = useSignal<readonly Entry[]>([]);
  const answer = useSignal<Answer<"listLogs"> | undefined>(undefined);
  const error = useSignal<Error | undefined>(undefined);
  const notice = useSignal("");
  const asked = useSignal(0);
  const box = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);

  useEffect(() => {
    const stop = new AbortController();
    let end: (() => void) | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let present: readonly Entry[] = [];
    const show = (): void => {
      timer = undefined;
      entries.value = present;
    };
    const onNotice = (message: string): void => {
      notice.value = message;
    };
    const add = (more: readonly Entry[]): void => {
      notice.value = "";
      present = [...present, ...more.slice(-lines).map(kept)].slice(-lines);
      timer ??= setTimeout(show, paintEveryMs);
    };
    answer.value = undefined;
    error.value = undefined;
    notice.value = "";
    isAtEnd.current = true;
    const begin = async (): Promise<void> => {
      const query = { unit, limit: lines, since: epoch };
      const found = await call("listLogs", { query }, { signal: stop.signal });
      present = found.logs.map(kept);
      show();
      answer.value = found;
      const filter = { unit, priority: undefined, grep: undefined, namespace: undefined };
      end = follow({ filter, cursor: present.at(-1)?.cursor, onEntries: add, onNotice });
    };
    begin().catch((thrown: unknown) => {
      if (!stop.signal.aborted) error.value = thrown as Error;
    });
    return () => {
      stop.abort();
      clearTimeout(timer);
      end?.();
    };
  }, [unit, lines, asked.value]);

  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [entries.value, answer.value]);

  if (error.value !== undefined) return <Problem error={error.value} onRetry={() => (asked.value += 1)} />;
  if (answer.value === undefined) return <Loading />;
  const onScroll = ({ currentTarget: at }: { readonly currentTarget: HTMLElement }): void => {
    isAtEnd.current = at.scrollTop + at.clientHeight >= at.scrollHeight - 8;
  };
  return (
    <div class="unit-log">
      <NotShown list={answer.value.not_shown} unread={answer.value.unread} />
      {notice.value !== "" && <p class="hint">{notice.value}</p>}
      {entries.value.length === 0 ? (
        answer.value.not_shown === undefined && <Empty icon="logs">{texts.unitSilent}</Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        <section class="unit-log-box" ref={box} tabIndex={0} aria-label={texts.ofUnit(unit)} onScroll={onScroll}>
          <ol>
            {entries.value.map((entry) => (
              <Line key={entry.cursor} entry={entry} />
            ))}
          </ol>
        </section>
      )}
      <Link to="logs" query={{ unit }}>
        {texts.allOfUnit}
      </Link>
    </div>
  );
}
