import type { JSX } from "preact";
import type { ServiceEntry } from "#contract/system.ts";
import type { UnitEntry } from "#contract/units.ts";
import type { Answer } from "../api/call.ts";
import { pace, type Resource, useCall } from "../api/resource.ts";
import { Link, query, setQuery } from "../router.tsx";
import { texts } from "../texts/services.ts";
import { texts as shared } from "../texts/shell.ts";
import { commandOf } from "../ui/commands.tsx";
import { FilterField, Segments } from "../ui/filter.tsx";
import { bytes, count } from "../ui/format.ts";
import { Page } from "../ui/page.tsx";
import { Loaded, NotShown, Time } from "../ui/parts.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { groupOf, shortName, UnitState } from "./states.tsx";
import { UnitDrawer } from "./unit-drawer.tsx";

const kinds = ["service", "timer", "socket", "mount"] as const;
type Kind = (typeof kinds)[number];
const states = ["all", "active", "failed", "inactive"] as const;

/** What is listed of a unit, of whichever kind. */
type Row = Pick<
  UnitEntry,
  "name" | "description" | "active_state" | "sub_state" | "load_state" | "unit_file_state" | "since"
> &
  Pick<UnitEntry, "timer" | "socket" | "mount"> &
  Partial<Pick<ServiceEntry, "memory_bytes" | "restarts">>;

interface Rows {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly not_shown?: Answer<"listUnits">["not_shown"];
}

const limit = 1000;

/** Services and other units are asked for by two operations, and are shown alike. */
function useUnits(type: Kind): Resource<Rows> {
  const isService = type === "service";
  const services = useCall("listServices", { query: { limit } }, { every: pace.usual, skip: !isService });
  const units = useCall("listUnits", { query: { type, limit } }, { every: pace.usual, skip: isService });
  const { error, loading, refresh } = isService ? services : units;
  const rest = { error, loading, refresh };
  if (isService) return { ...rest, data: services.data && { ...services.data, rows: services.data.services } };
  return { ...rest, data: units.data && { ...units.data, rows: units.data.units } };
}

const UnitLink = ({ name, text = name }: { readonly name: string; readonly text?: string }): JSX.Element => (
  <Link to="services" query={{ ...Object.fromEntries(query.value), unit: name }}>
    {text}
  </Link>
);
const units = (names: readonly string[]): JSX.Element => (
  <>{names.map((name) => (name === "" ? null : <UnitLink key={name} name={name} />))}</>
);
const timeOf = (at: string | null | undefined): number => (at == null ? 0 : Date.parse(at));

const name: Column<Row> = {
  id: "name",
  title: texts.name,
  cell: (row) => <UnitLink name={row.name} text={shortName(row.name)} />,
  sort: (row) => row.name,
};
const state: Column<Row> = {
  id: "state",
  title: texts.active,
  cell: (row) => <UnitState of={row} />,
  sort: (row) => `${ranks[groupOf(row)]} ${row.sub_state}`,
  narrow: "below",
};
const description: Column<Row> = {
  id: "description",
  title: texts.description,
  cell: (row) => <span class="quiet cut">{row.description === row.name ? "" : row.description}</span>,
  narrow: "hide",
};
const boot: Column<Row> = {
  id: "boot",
  title: texts.boot,
  cell: (row) => row.unit_file_state,
  sort: (row) => row.unit_file_state,
  narrow: "hide",
};
const since: Column<Row> = {
  id: "since",
  title: texts.since,
  align: "end",
  cell: (row) => <Time at={row.since} />,
  sort: (row) => timeOf(row.since),
  narrow: "below",
};

const columns: Readonly<Record<Kind, readonly Column<Row>[]>> = {
  service: [
    name,
    state,
    description,
    boot,
    {
      id: "memory",
      title: texts.memory,
      align: "end",
      cell: (row) => (row.memory_bytes == null ? "" : bytes(row.memory_bytes)),
      sort: (row) => row.memory_bytes ?? 0,
      narrow: "below",
    },
    {
      id: "restarts",
      title: texts.restarts,
      align: "end",
      cell: (row) => (row.restarts ? count(row.restarts) : ""),
      sort: (row) => row.restarts ?? 0,
      narrow: "hide",
    },
    since,
  ],
  timer: [
    name,
    state,
    {
      id: "starts",
      title: texts.starts,
      cell: (row) => units([row.timer?.unit ?? ""]),
      sort: (row) => row.timer?.unit ?? "",
      narrow: "hide",
    },
    {
      id: "next",
      title: texts.next,
      cell: (row) => <Time at={row.timer?.next_at} />,
      sort: (row) => timeOf(row.timer?.next_at),
      narrow: "below",
    },
    {
      id: "last",
      title: texts.last,
      cell: (row) => <Time at={row.timer?.last_at} />,
      sort: (row) => timeOf(row.timer?.last_at),
      narrow: "hide",
    },
    boot,
    since,
  ],
  socket: [
    name,
    state,
    {
      id: "listens",
      title: texts.listens,
      cell: (row) => (
        <span class="names">
          {row.socket?.listens.map(({ type, address }) => (
            <code key={`${type} ${address}`}>{address}</code>
          ))}
        </span>
      ),
      sort: (row) => row.socket?.listens[0]?.address ?? "",
      narrow: "hide",
    },
    {
      id: "starts",
      title: texts.starts,
      cell: (row) => units(row.socket?.units ?? []),
      sort: (row) => row.socket?.units[0] ?? "",
      narrow: "hide",
    },
    {
      id: "connections",
      title: texts.connections,
      align: "end",
      cell: (row) => (row.socket?.accepts ? count(row.socket.connections) : ""),
      sort: (row) => row.socket?.connections ?? 0,
      narrow: "hide",
    },
    since,
  ],
  mount: [
    {
      id: "where",
      title: texts.where,
      cell: (row) => <UnitLink name={row.name} text={row.mount?.where ?? row.name} />,
      sort: (row) => row.mount?.where ?? row.name,
    },
    state,
    {
      id: "what",
      title: texts.what,
      cell: (row) => row.mount?.what,
      sort: (row) => row.mount?.what ?? "",
      narrow: "hide",
    },
    {
      id: "type",
      title: texts.fileSystem,
      cell: (row) => row.mount?.type,
      sort: (row) => row.mount?.type ?? "",
      narrow: "below",
    },
    boot,
    since,
  ],
};

const chosenOf = <T extends string>(of: readonly T[], text: string | null, first: T): T =>
  of.find((each) => each === text) ?? first;

const ranks = { failed: 0, active: 1, inactive: 2 } as const;
/** What failed comes first, then what runs: that is what somebody looks for. */
const byState = (rows: readonly Row[]): readonly Row[] =>
  rows.toSorted((one, other) => ranks[groupOf(one)] - ranks[groupOf(other)]);

export function ServicesPage(): JSX.Element {
  const type = chosenOf(kinds, query.value.get("type"), "service");
  const state = chosenOf(states, query.value.get("state"), "all");
  const text = query.value.get("q") ?? "";
  const unit = query.value.get("unit");
  const answer = useUnits(type);
  const matching = answer.data?.rows.filter(({ name, description }) =>
    `${name}\n${description}`.toLowerCase().includes(text.toLowerCase()),
  );
  const isShown = (row: Row, by = state): boolean => by === "all" || groupOf(row) === by;
  return (
    <Page
      title={texts.title}
      commands={[
        type === "service"
          ? commandOf("listServices", { query: { limit } }, "steward services")
          : commandOf("listUnits", { query: { type, limit } }, `steward units --type ${type}`),
      ]}
    >
      <div class="row">
        <FilterField label={texts.filter} value={text} onChange={(q) => setQuery({ q })} />
        <Segments
          label={texts.kinds}
          of={kinds.map((each) => ({ value: each, name: texts.kind[each] }))}
          chosen={type}
          onChoose={(each) => setQuery({ type: each === "service" ? undefined : each, state: undefined })}
        />
        <Segments
          label={texts.states}
          of={states.map((each) => ({
            value: each,
            name: (
              <>
                {texts.state[each]}{" "}
                <span class="number">{count(matching?.filter((row) => isShown(row, each)).length)}</span>
              </>
            ),
          }))}
          chosen={state}
          onChoose={(each) => setQuery({ state: each === "all" ? undefined : each })}
        />
      </div>
      <Loaded of={answer} rows={12}>
        {({ rows, total, not_shown: lacks }) => (
          <>
            <NotShown list={lacks} />
            {total > rows.length && <p class="quiet">{shared.shownOf(count(rows.length), count(total))}</p>}
            <Table
              key={type}
              label={texts.kind[type]}
              columns={columns[type]}
              rows={byState((matching ?? []).filter((row) => isShown(row)))}
              keyOf={(row) => row.name}
              empty={rows.length === 0 ? texts.none : texts.noMatch}
            />
          </>
        )}
      </Loaded>
      {unit !== null && <UnitDrawer key={unit} name={unit} onClose={() => setQuery({ unit: undefined })} />}
    </Page>
  );
}
