import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { ProcessEntry, ProcessUnit } from "#contract/processes.ts";
import type { Answer } from "../api/call.ts";
import { pace, type Resource, useCall } from "../api/resource.ts";
import { Link, query, setQuery } from "../router.tsx";
import { texts } from "../texts/processes.ts";
import { commandOf } from "../ui/commands.tsx";
import { FilterField, Segments } from "../ui/filter.tsx";
import { bytes, count, percent } from "../ui/format.ts";
import { Page } from "../ui/page.tsx";
import { Loaded, Time } from "../ui/parts.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { ProcessDrawer } from "./process-drawer.tsx";

const views = ["flat", "units", "tree"] as const;
type View = (typeof views)[number];

/** As many as are asked for each few seconds, unless all are needed. */
const usual = 1000;
const most = 10_000;

const withQuery = (more: Readonly<Record<string, string>>) => ({
  ...Object.fromEntries([...query.value.keys()].map((key) => [key, query.value.getAll(key)])),
  ...more,
});

interface Row extends ProcessEntry {
  /** In the tree: how many ancestors it has. */
  readonly depth: number;
  /** In the tree: how many processes are below it. */
  readonly below: number;
}

/** Processes of which the tree does not show what is below them. */
const foldedPids = (): readonly string[] => query.value.getAll("fold");

function FoldButton({ of: { pid, name, below } }: { readonly of: Row }): JSX.Element {
  const folded = foldedPids();
  const isFolded = folded.includes(String(pid));
  const others = folded.filter((each) => each !== String(pid));
  return (
    <button
      type="button"
      class="plain fold"
      aria-expanded={!isFolded}
      onClick={() => setQuery({ fold: isFolded ? others : [...others, String(pid)] })}
    >
      {isFolded ? texts.folded(below) : texts.unfolded}
      <span class="hidden">{texts.below(name, pid)}</span>
    </button>
  );
}

const program: Column<Row> = {
  id: "program",
  title: texts.program,
  cell: (row) => (
    <span class="program" style={row.depth === 0 ? undefined : { paddingLeft: `${Math.min(row.depth, 12) * 14}px` }}>
      {row.below > 0 && <FoldButton of={row} />}
      <Link to="processes" query={withQuery({ pid: String(row.pid) })}>
        {row.name}
      </Link>
      <code class="quiet">{row.command ?? ""}</code>
    </span>
  ),
  sort: (row) => row.name,
};
const columns: readonly Column<Row>[] = [
  program,
  {
    id: "pid",
    title: texts.pid,
    align: "end",
    cell: (row) => String(row.pid),
    sort: (row) => row.pid,
    narrow: "below",
  },
  {
    id: "user",
    title: texts.user,
    cell: (row) => <span class="nowrap">{row.user ?? "–"}</span>,
    sort: (row) => row.user ?? "",
    narrow: "below",
  },
  {
    id: "unit",
    title: texts.unit,
    cell: (row) => <span class="quiet cut">{row.unit ?? ""}</span>,
    sort: (row) => row.unit ?? "",
    narrow: "hide",
  },
  {
    id: "cpu",
    title: texts.processor,
    align: "end",
    cell: (row) => (row.cpu_percent === 0 ? "" : percent(row.cpu_percent)),
    sort: (row) => row.cpu_percent,
    narrow: "below",
  },
  {
    id: "memory",
    title: texts.memory,
    align: "end",
    cell: (row) => (row.memory_bytes === 0 ? "" : bytes(row.memory_bytes)),
    sort: (row) => row.memory_bytes,
    narrow: "below",
  },
  {
    id: "state",
    title: texts.state,
    cell: (row) => <span class="nowrap">{texts.states[row.state]}</span>,
    sort: (row) => row.state,
    narrow: "hide",
  },
  {
    id: "started",
    title: texts.started,
    align: "end",
    cell: (row) => <Time at={row.start_time} />,
    sort: (row) => Date.parse(row.start_time),
    narrow: "hide",
  },
];
// Sorting would take children from their parents.
const treeColumns = columns.map(({ id, title, cell, align, narrow }) => ({
  ...{ id, title, cell },
  ...(align && { align }),
  ...(narrow && { narrow }),
}));

const unitColumns: readonly Column<ProcessUnit>[] = [
  {
    id: "unit",
    title: texts.unit,
    cell: ({ unit }) =>
      unit === null ? (
        <span class="quiet">{texts.noUnit}</span>
      ) : (
        <Link to="processes" query={{ unit }}>
          {unit}
        </Link>
      ),
    sort: ({ unit }) => unit ?? "",
  },
  {
    id: "count",
    title: texts.count,
    align: "end",
    cell: ({ processes }) => count(processes),
    sort: ({ processes }) => processes,
    narrow: "hide",
  },
  {
    id: "threads",
    title: texts.threads,
    align: "end",
    cell: ({ threads }) => count(threads),
    sort: ({ threads }) => threads,
    narrow: "hide",
  },
  {
    id: "cpu",
    title: texts.processor,
    align: "end",
    cell: ({ cpu_percent: cpu }) => (cpu === 0 ? "" : percent(cpu)),
    sort: ({ cpu_percent: cpu }) => cpu,
    narrow: "below",
  },
  {
    id: "memory",
    title: texts.memory,
    align: "end",
    cell: ({ memory_bytes: memory }) => bytes(memory),
    sort: ({ memory_bytes: memory }) => memory,
    narrow: "below",
  },
];

/** Each process below its parent. One whose parent is not among them begins a tree of its own. */
function treeOf(processes: readonly ProcessEntry[], folded: readonly string[]): readonly Row[] {
  const pids = new Set(processes.map(({ pid }) => pid));
  const children = Map.groupBy(
    processes.toSorted((one, other) => one.pid - other.pid),
    ({ pid, ppid }) => (pids.has(ppid) && ppid !== pid ? ppid : 0),
  );
  const rows: Omit<Row, "below">[] = [];
  // The newest first, so that the oldest is taken first.
  const open = (children.get(0) ?? []).toReversed().map((process) => ({ ...process, depth: 0 }));
  for (let row = open.pop(); row !== undefined; row = open.pop()) {
    rows.push(row);
    const depth = row.depth + 1;
    open.push(...(children.get(row.pid) ?? []).toReversed().map((process) => ({ ...process, depth })));
  }
  const sizes = new Map<number, number>();
  for (const { pid, ppid, depth } of rows.toReversed())
    if (depth > 0) sizes.set(ppid, (sizes.get(ppid) ?? 0) + (sizes.get(pid) ?? 0) + 1);
  let shownTo = Number.POSITIVE_INFINITY;
  return rows.flatMap((row) => {
    if (row.depth > shownTo) return [];
    shownTo = folded.includes(String(row.pid)) ? row.depth : Number.POSITIVE_INFINITY;
    return [{ ...row, below: sizes.get(row.pid) ?? 0 }];
  });
}

const textOf = ({ pid, name, user, unit, command }: ProcessEntry): string =>
  `${pid}\n${name}\n${user}\n${unit}\n${command}`.toLowerCase();

/** Keeps what it had while another question is asked: the list would go briefly with each word that is typed. */
function useKept<T>(resource: Resource<T>): Resource<T> {
  const last = useRef<T>(undefined);
  if (resource.data !== undefined) last.current = resource.data;
  return { ...resource, data: resource.data ?? last.current };
}

type List = Answer<"listProcesses">;

function Processes({ of, view }: { readonly of: List; readonly view: View }): JSX.Element {
  const text = (query.value.get("q") ?? "").toLowerCase();
  const sorted = query.value.get("sort") ?? "-cpu";
  const onSort = (sort: string): void => setQuery({ sort: sort === "-cpu" ? undefined : sort });
  if (view === "units")
    return (
      <Table
        key={view}
        label={texts.views.units}
        columns={unitColumns}
        rows={(of.units ?? []).filter(({ unit }) => (unit ?? texts.noUnit).toLowerCase().includes(text))}
        keyOf={({ unit }) => unit ?? ""}
        empty={texts.noMatch}
        sorted={sorted}
        onSort={onSort}
      />
    );
  const matching = of.processes.filter(
    (process) => (query.value.has("kernel") || !process.is_kernel_thread) && textOf(process).includes(text),
  );
  const isTree = view === "tree";
  return (
    <>
      {of.total > of.processes.length && <p class="quiet">{texts.cut(count(of.processes.length), count(of.total))}</p>}
      <Table
        key={view}
        label={texts.title}
        columns={isTree ? treeColumns : columns}
        rows={isTree ? treeOf(matching, foldedPids()) : matching.map((process) => ({ ...process, depth: 0, below: 0 }))}
        keyOf={({ pid, start_time: start }) => `${pid} ${start}`}
        empty={texts.noMatch}
        {...(!isTree && { sorted, onSort })}
      />
    </>
  );
}

const Notes = ({ of, isWarning = false }: { readonly of: readonly string[]; readonly isWarning?: boolean }) =>
  of.length === 0 ? null : (
    <ul class={isWarning ? "not-shown" : "quiet small"}>
      {of.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );

export function ProcessesPage(): JSX.Element {
  const view = views.find((each) => each === query.value.get("view")) ?? "flat";
  const text = query.value.get("q") ?? "";
  const unit = query.value.get("unit");
  const pid = query.value.get("pid");
  const hasKernel = query.value.has("kernel");
  const isByMemory = query.value.get("sort")?.endsWith("memory") === true;
  const input = {
    query: {
      ...(isByMemory && { sort: "memory" as const }),
      ...(unit !== null && { unit }),
      ...(view === "units" && { by_unit: true }),
      limit: view === "units" ? 1 : view === "tree" || text !== "" ? most : usual,
    },
  };
  const answer = useKept(useCall("listProcesses", input, { every: pace.often }));
  return (
    <Page
      title={texts.title}
      count={answer.data && texts.processes(count(answer.data.total))}
      commands={[commandOf("listProcesses", input, "steward processes")]}
    >
      <div class="row">
        <FilterField label={texts.filter} value={text} onChange={(q) => setQuery({ q })} />
        <Segments
          label={texts.view}
          of={views.map((each) => ({ value: each, name: texts.views[each] }))}
          chosen={view}
          onChoose={(each) => setQuery({ view: each === "flat" ? undefined : each })}
        />
        {view !== "units" && (
          <label class="check">
            <input
              type="checkbox"
              checked={hasKernel}
              onChange={() => setQuery({ kernel: hasKernel ? undefined : "1" })}
            />
            {texts.kernel}
          </label>
        )}
      </div>
      {unit !== null && (
        <p>
          {texts.ofUnit(unit)}{" "}
          <button type="button" class="plain" onClick={() => setQuery({ unit: undefined })}>
            {texts.all}
          </button>
        </p>
      )}
      <Loaded of={answer} rows={12}>
        {(data) => (
          <>
            {!data.is_complete && <Notes of={data.notes} isWarning />}
            <Processes of={data} view={view} />
            {data.is_complete && <Notes of={data.notes} />}
          </>
        )}
      </Loaded>
      {pid !== null && <ProcessDrawer key={pid} pid={pid} onClose={() => setQuery({ pid: undefined })} />}
    </Page>
  );
}
