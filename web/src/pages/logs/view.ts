import { type Signal, signal } from "@preact/signals";
import { type Answer, call } from "../../api/call.ts";
import { type Buckets, bucketsOf, counted, stretchOf } from "../../list/buckets.ts";
import type { Entry } from "../../list/entry.ts";
import { follow } from "../../list/follow.ts";
import { LogWindow, type PageQuery } from "../../list/log-window.ts";
import { asked, type Filters, windowOf } from "./filters.ts";

const epoch = "1970-01-01T00:00:00Z";
const firstPage = 300;
/** Numbers that change more often cannot be read. */
const countEveryMs = 250;
const chartEveryMs = 1000;

/** What the list reports about what it shows. */
export interface Watcher {
  /** Entries have come or gone. */
  readonly onChange: (shift: number) => void;
  readonly onMiss: (index: number) => void;
}

/** What is listed by some filters, from when they are chosen until others are. */
export interface LogView {
  readonly filters: Filters;
  readonly entries: LogWindow;
  /** The window in time; undefined until it is known. */
  readonly time: Signal<{ readonly since: string; readonly until: string } | undefined>;
  readonly isReady: Signal<boolean>;
  readonly total: Signal<number>;
  readonly buckets: Signal<Buckets | undefined>;
  readonly error: Signal<Error | undefined>;
  /** What a stream has lost, or why it is interrupted. */
  readonly notice: Signal<string>;
  readonly notShown: Signal<Answer<"listLogs">["not_shown"]>;
  readonly unread: Signal<Answer<"listLogs">["unread"]>;
  readonly watch: (watcher: Watcher) => void;
  /** Lists what is written from now on too. @returns what ends it. */
  readonly follow: () => () => void;
  readonly end: () => void;
}

/** Calls back once in a while however often it is asked to. */
function seldom(ms: number, work: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    ask: (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        work();
      }, ms);
    },
    stop: (): void => clearTimeout(timer),
  };
}

/** What the stream cannot filter by itself. */
function passes({ units, identifier, boot }: Filters, entry: Entry): boolean {
  if (units.length > 1 && !units.some((unit) => entry.unit === unit || entry.unit === `${unit}.service`)) return false;
  if (identifier !== undefined && entry.identifier !== identifier) return false;
  return boot === undefined || entry.boot_id === boot;
}

export function createLogView(filters: Filters, bars: number): LogView {
  const stop = new AbortController();
  const common = asked(filters);
  const end = windowOf(filters, Date.now());
  const time: LogView["time"] = signal(undefined);
  const total = signal(0);
  const buckets = signal<Buckets | undefined>(undefined);
  const error = signal<Error | undefined>(undefined);
  const notice = signal("");
  const isReady = signal(false);
  const notShown: LogView["notShown"] = signal(undefined);
  const unread: LogView["unread"] = signal(undefined);
  let watcher: Watcher | undefined;
  /** The newest counts, of which the signal has those of a short time ago. */
  let counts: Buckets | undefined;
  const uncounted: Entry[] = [];

  const onError = (thrown: unknown): void => {
    if (!stop.signal.aborted) error.value = thrown as Error;
  };
  /** The end of the window, or the newest entry where that has come later. */
  const latest = (): string => {
    const newest = entries.newest?.timestamp;
    return newest !== undefined && Date.parse(newest) > Date.parse(end.until) ? newest : end.until;
  };
  const ask = (page: PageQuery, abort: AbortSignal) =>
    call(
      "listLogs",
      { query: { ...common, since: time.value?.since ?? epoch, until: latest(), ...page } },
      { signal: abort },
    );
  const entries = new LogWindow({
    ask,
    stretchOf: (index) => {
      const since = Date.parse(time.value?.since ?? epoch);
      const until = Date.parse(latest()) + 1;
      const found = counts && stretchOf(counts, index);
      if (found === undefined) return { since, until, first: 0, end: entries.total };
      return { ...found, since: Math.max(since, found.since), until: Math.min(until, found.until) };
    },
    onChange: (shift) => {
      paintTotal.ask();
      watcher?.onChange(shift);
    },
    onMiss: (index) => watcher?.onMiss(index),
    onError,
  });
  const paintTotal = seldom(countEveryMs, () => {
    total.value = entries.total;
  });
  const paintChart = seldom(chartEveryMs, () => {
    if (counts === undefined) return;
    counts = counted(counts, uncounted.splice(0));
    buckets.value = counts;
  });

  const begin = async (): Promise<void> => {
    const { signal } = stop;
    const oldest =
      end.since === undefined
        ? (await call("listLogs", { query: { ...common, since: epoch, from: "oldest", limit: 1 } }, { signal })).logs[0]
            ?.timestamp
        : end.since;
    const since = oldest ?? end.until;
    time.value = { since, until: end.until };
    const query = { ...common, since, until: end.until };
    const list = async (): Promise<void> => {
      const answer = await call("listLogs", { query: { ...query, limit: firstPage } }, { signal });
      entries.begin(answer);
      total.value = answer.total;
      notShown.value = answer.not_shown;
      unread.value = answer.unread;
      isReady.value = true;
    };
    const count = async (): Promise<void> => {
      counts = bucketsOf(await call("getLogHistogram", { query: { ...query, buckets: bars } }, { signal }));
      buckets.value = counts;
    };
    await Promise.all([list(), count()]);
  };
  begin().catch(onError);

  return {
    filters,
    entries,
    time,
    isReady,
    total,
    buckets,
    error,
    notice,
    notShown,
    unread,
    watch: (given) => {
      watcher = given;
    },
    follow: () => {
      const [unit, ...others] = filters.units;
      return follow({
        filter: {
          unit: others.length === 0 ? unit : undefined,
          priority: filters.priority?.toString(),
          grep: filters.grep,
          // Units may be in any of them, which the stream knows of one unit by itself.
          namespace: filters.namespace ?? (others.length === 0 ? undefined : "*"),
        },
        cursor: entries.newest?.cursor,
        onNotice: (message) => {
          notice.value = message;
        },
        onEntries: (all) => {
          const fitting = all.filter((entry) => passes(filters, entry));
          if (fitting.length === 0) return;
          notShown.value = undefined;
          if (error.value === undefined) uncounted.push(...fitting);
          entries.append(fitting);
          paintChart.ask();
        },
      });
    },
    end: () => {
      stop.abort();
      paintTotal.stop();
      paintChart.stop();
      entries.end();
    },
  };
}
