import { effect, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { call, type Input } from "../../api/call.ts";
import { Histogram } from "../../charts/histogram.tsx";
import { query, setQuery } from "../../router.tsx";
import { texts } from "../../texts/logs.ts";
import { commandOf } from "../../ui/commands.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { count } from "../../ui/format.ts";
import { Page } from "../../ui/page.tsx";
import { Empty, Loading, NotShown, Problem } from "../../ui/parts.tsx";
import { EntryList, type ListControl } from "./entry-list.tsx";
import { EntryPane } from "./entry-pane.tsx";
import { activeFacets, Facets } from "./facets.tsx";
import { asked, type Filters, filtersOfAddress, isOpen, lineOf, zoomTo } from "./filters.ts";
import { type KeyActions, listenToKeys } from "./keys.ts";
import { Toolbar } from "./toolbar.tsx";
import { createLogView, type LogView } from "./view.ts";

/** So long before and after an entry that an address names without a time. */
const aroundMs = 30 * 60_000;
const leastBars = 24;
const mostBars = 120;
const pixelsOfBar = 8;
const settledMs = 150;

const barsOf = (width: number): number =>
  Math.min(mostBars, Math.max(leastBars, Math.floor((width - 44) / pixelsOfBar)));

/**
 * The view of the filters in the address, rebuilt when these change, or when somebody asks for it. The one before stays until the new
 * one has something to show.
 */
function useView(filters: Filters) {
  const view = useSignal<LogView | undefined>(undefined);
  const runs = useSignal(0);
  const key = JSON.stringify(filters);
  useEffect(() => {
    const made = createLogView(filters, barsOf(document.getElementById("main")?.clientWidth ?? innerWidth));
    const forget = effect(() => {
      if (!made.isReady.value && made.error.value === undefined && view.peek() !== undefined) return;
      if (view.peek() !== made) view.peek()?.end();
      view.value = made;
    });
    return () => {
      forget();
      if (view.peek() !== made) made.end();
    };
  }, [key, runs.value]);
  useEffect(() => () => view.peek()?.end(), []);
  const isBusy = view.value !== undefined && JSON.stringify(view.value.filters) !== key;
  return { view: view.value, isBusy, again: () => (runs.value += 1) };
}

const Help = ({ onClose }: { readonly onClose: () => void }): JSX.Element => (
  <Dialog title={texts.help} onClose={onClose}>
    <table class="keys">
      <tbody>
        {texts.keys.map(([key, what]) => (
          <tr key={key}>
            <th scope="row">
              {key.split("  ").map((each) => (
                <kbd key={each}>{each}</kbd>
              ))}
            </th>
            <td>{what}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Dialog>
);

/** An address that names an entry and no time shows the time around it. */
function usePermalink(): boolean {
  const cursor = query.value.get("entry");
  const isBare = cursor !== null && !query.value.has("since") && !query.value.has("range");
  useEffect(() => {
    if (!isBare) return;
    const show = (timestamp: string | undefined): void => {
      if (timestamp === undefined) {
        setQuery({ range: "1h" });
        return;
      }
      const at = Date.parse(timestamp);
      const [since, until] = [at - aroundMs, at + aroundMs].map((ms) => new Date(ms).toISOString());
      setQuery({ since, until: Date.parse(until ?? "") > Date.now() ? undefined : until });
    };
    call("listLogs", { query: { entry: cursor } }).then(
      ({ logs }) => show(logs[0]?.timestamp),
      () => show(undefined),
    );
  }, [isBare, cursor]);
  return isBare;
}

interface BodyProps {
  readonly view: LogView;
  readonly isLive: boolean;
  readonly cursor: string | undefined;
  readonly isListed: boolean;
  readonly again: () => void;
  readonly onControl: (control: ListControl | undefined) => void;
  readonly onEntry: (cursor: string | undefined) => void;
  readonly onMoved: (cursor: string) => void;
  readonly unseen: number;
  readonly onUnseen: (count: number) => void;
  readonly onToEnd: () => void;
}

const Chart = ({ view }: { readonly view: LogView | undefined }): JSX.Element =>
  view?.buckets.value === undefined ? (
    <section class="card histogram" aria-label={texts.histogram} />
  ) : (
    <Histogram of={view.buckets.value} onZoom={zoomTo} />
  );

/** The list in its states. */
function Listed(props: BodyProps): JSX.Element {
  const { view, isLive, again, onControl, onEntry, onMoved, unseen, onUnseen, onToEnd } = props;
  if (!view.isReady.value)
    return view.error.value === undefined ? (
      <Loading rows={12} />
    ) : (
      <Problem error={view.error.value} onRetry={again} />
    );
  const isEmpty = view.total.value === 0 && view.entries.total === 0;
  return (
    <>
      {view.error.value !== undefined && <Problem error={view.error.value} onRetry={again} />}
      <NotShown list={view.notShown.value} unread={view.unread.value} />
      {view.notice.value !== "" && (
        <p class="hint" role="status">
          {view.notice.value}
        </p>
      )}
      {isEmpty && view.notShown.value === undefined && (
        <Empty icon="search">
          {texts.empty} {texts.emptyHint}
        </Empty>
      )}
      <div class={isEmpty ? "log-box vacant" : "log-box"}>
        <EntryList
          view={view}
          isLive={isLive}
          onControl={onControl}
          onSelect={({ cursor }) => onMoved(cursor)}
          onOpen={({ cursor }) => onEntry(cursor)}
          onUnseen={onUnseen}
        />
        {unseen > 0 && (
          <button type="button" class="primary new-entries" onClick={onToEnd}>
            {texts.newEntries(unseen)}
          </button>
        )}
      </div>
    </>
  );
}

function Content(): JSX.Element {
  const filters = filtersOfAddress();
  const { view, isBusy, again } = useView(filters);
  const cursor = query.value.get("entry") ?? undefined;
  const isLive = query.value.has("follow") && isOpen(filters);
  const list = useRef<ListControl | undefined>(undefined);
  const dialog = useSignal<"filters" | "help" | undefined>(undefined);
  const unseen = useSignal(0);
  const isListed = useSignal(true);
  const notice = useSignal("");
  const moved = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const isReady = view?.isReady.value === true;

  const open = (entry: string | undefined): void => {
    clearTimeout(moved.current);
    // With a time: an address without one is that of an entry alone.
    setQuery({ entry, ...(entry !== undefined && filters.range !== "custom" && { range: filters.range }) });
  };
  const find = async (entry: string): Promise<void> => {
    isListed.value = (await list.current?.find(entry)) !== false;
  };
  const fail = (thrown: unknown): void => {
    if (thrown instanceof Error && view?.isReady.value === true) notice.value = thrown.message;
  };
  const close = (): void => {
    if (query.value.has("entry")) {
      open(undefined);
      list.current?.box.focus();
    }
  };
  const follow = (): void => {
    if (isOpen(filters)) setQuery({ follow: isLive ? undefined : "1" });
  };
  const nextError = async (order: "asc" | "desc"): Promise<void> => {
    const at = list.current?.selected() ?? list.current?.seen()[order === "asc" ? 0 : 1];
    const from = at === undefined ? undefined : view?.entries.at(at)?.cursor;
    const time = view?.time.value;
    if (view === undefined || from === undefined || time === undefined) return;
    const least = Math.min(3, filters.priority ?? 3);
    const sought: Input<"listLogs">["query"] = { ...asked(filters), priority: least, since: time.since };
    const { logs } = await call("listLogs", { query: { ...sought, cursor: from, order, limit: 1 } });
    const found = logs[0]?.cursor;
    notice.value = found === undefined ? texts.noMoreErrors : "";
    if (found === undefined) return;
    await find(found);
    if (query.value.has("entry")) open(found);
  };

  // The pane goes along with the selection.
  const onMoved = (entry: string): void => {
    if (!query.value.has("entry")) return;
    clearTimeout(moved.current);
    moved.current = setTimeout(() => open(entry), settledMs);
  };
  useEffect(() => () => clearTimeout(moved.current), []);
  useEffect(() => {
    unseen.value = 0;
    notice.value = "";
    isListed.value = true;
    if (isReady && cursor !== undefined) void find(cursor).catch(fail);
  }, [view, isReady]);
  useEffect(() => (isReady && isLive && !isBusy ? view?.follow() : undefined), [view, isReady, isLive, isBusy]);
  useEffect(() => {
    if (isLive) list.current?.toEnd();
  }, [isLive]);
  const actions = useRef<KeyActions>(undefined as never);
  actions.current = {
    list: () => list.current,
    total: () => view?.entries.total ?? 0,
    onOpen: () => {
      const at = list.current?.selected();
      const entry = at === undefined ? undefined : view?.entries.at(at);
      if (entry !== undefined) open(entry.cursor);
    },
    onClose: close,
    onFollow: follow,
    onHelp: () => (dialog.value = "help"),
    onError: (order) => void nextError(order).catch(fail),
  };
  useEffect(() => listenToKeys(() => actions.current), []);

  const time = view?.time.value;
  const command = { ...asked(filters), ...time };
  // Nothing is known of entries: neither how many nor of what kind.
  const isUnknown =
    view !== undefined && (view.notShown.value !== undefined || (!isReady && view.error.value !== undefined));
  const facets = time !== undefined && !isUnknown && (
    <Facets filters={filters} counted={view?.filters ?? filters} time={time} isLive={isLive} />
  );
  const total = view?.total.value ?? 0;
  return (
    <Page
      fixed
      title={texts.title}
      count={isReady && !isUnknown ? texts.entries(count(total), total === 1) : undefined}
      actions={
        <button
          type="button"
          class="help"
          aria-label={texts.help}
          title={texts.help}
          onClick={() => (dialog.value = "help")}
        >
          {"?"}
        </button>
      }
      commands={[
        commandOf("listLogs", { query: command }, lineOf(filters, time?.since)),
        commandOf("getLogHistogram", { query: command }, `${lineOf(filters, time?.since)} --histogram`),
        commandOf("getLogFacets", { query: command }, `${lineOf(filters, time?.since)} --facets unit,priority`),
      ]}
    >
      <Toolbar
        filters={filters}
        since={time?.since}
        until={time?.until}
        isLive={isLive}
        active={activeFacets(filters)}
        onLive={follow}
        onFilters={() => (dialog.value = "filters")}
      />
      {!isUnknown && <Chart view={view} />}
      {notice.value !== "" && (
        <p class="hint" role="status">
          {notice.value}
        </p>
      )}
      <div class={`log-body ${cursor === undefined ? "" : "with-entry"} ${isUnknown ? "unknown" : ""}`}>
        <aside class="log-facets" aria-label={texts.filters}>
          {facets}
        </aside>
        <div class="log-main" aria-busy={isBusy}>
          {isBusy && <span class="busy" role="progressbar" aria-label={texts.searching} />}
          {view !== undefined && (
            <Listed
              view={view}
              isLive={isLive}
              cursor={cursor}
              isListed={isListed.value}
              again={again}
              onControl={(control) => (list.current = control)}
              onEntry={open}
              onMoved={onMoved}
              unseen={unseen.value}
              onUnseen={(number) => (unseen.value = number)}
              onToEnd={() => {
                list.current?.toEnd();
                list.current?.box.focus();
              }}
            />
          )}
        </div>
        {cursor !== undefined && (
          <EntryPane
            cursor={cursor}
            isListed={isListed.value}
            onChoose={(entry) => {
              open(entry);
              void find(entry).catch(fail);
            }}
            onClose={close}
          />
        )}
      </div>
      {dialog.value === "help" && <Help onClose={() => (dialog.value = undefined)} />}
      {dialog.value === "filters" && (
        <Dialog title={texts.filters} onClose={() => (dialog.value = undefined)}>
          {facets}
        </Dialog>
      )}
    </Page>
  );
}

export const LogsPage = (): JSX.Element =>
  usePermalink() ? (
    <Page fixed title={texts.title} commands={[]}>
      <Loading rows={12} />
    </Page>
  ) : (
    <Content />
  );
