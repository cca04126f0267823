import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { OperationEntry } from "#contract/operation-entry.ts";
import { pace, useCall } from "../api/resource.ts";
import { openStream } from "../api/stream.ts";
import { Link, query, setQuery } from "../router.tsx";
import { texts } from "../texts/operations.ts";
import { commandOf } from "../ui/commands.tsx";
import { Segments } from "../ui/filter.tsx";
import { count, duration } from "../ui/format.ts";
import { Page } from "../ui/page.tsx";
import { Loaded, Meter, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { kindName, OperationView, StatusBadge, took } from "./operation-view.tsx";

const statuses = ["all", "running", "queued", "done", "failed"] as const;
type Status = (typeof statuses)[number];
const mostOperations = 200;

/** What it came to, or what it is doing. */
function Outcome({ of: { status, progress, result, error } }: { readonly of: OperationEntry }): JSX.Element {
  if (status === "running" || status === "queued")
    return (
      <span class="inline-progress">
        <Meter value={progress.percent} label={progress.step} />
        <span>{progress.step}</span>
      </span>
    );
  const said = result as { message?: string; error?: string | null; packages?: readonly unknown[] } | null;
  const of = said?.packages === undefined ? "" : texts.changed(said.packages.length);
  return <span class="clip">{error?.message ?? said?.error ?? said?.message ?? of}</span>;
}

/** Asks again whenever an operation begins, comes along or ends. */
function useChanges(refresh: () => void): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stream = openStream("operations", {
      query: () => ({}),
      onFrame: () => {
        timer ??= setTimeout(() => {
          timer = undefined;
          refresh();
        }, 500);
      },
    });
    return () => {
      clearTimeout(timer);
      stream.close();
    };
  }, []);
}

function List(): JSX.Element {
  const asked = query.value.get("status");
  const status: Status = statuses.find((each) => each === asked) ?? "all";
  const input = { query: { limit: mostOperations, ...(status !== "all" && { status }) } };
  const list = useCall("listOperations", input, { every: pace.seldom });
  useChanges(list.refresh);
  return (
    <Page
      title={texts.title}
      count={list.data && count(list.data.total)}
      commands={[commandOf("listOperations", input, "steward operations")]}
    >
      <div class="row">
        <Segments
          label={texts.filter}
          of={statuses.map((value) => ({ value, name: texts.statuses[value] }))}
          chosen={status}
          onChoose={(value) => setQuery({ status: value === "all" ? undefined : value })}
        />
        <p class="quiet small">{texts.about}</p>
      </div>
      <Loaded of={list} rows={8}>
        {({ operations }) => (
          <Table
            label={texts.title}
            rows={operations}
            keyOf={({ id }) => id}
            empty={status === "all" ? texts.none : texts.noneOf(texts.statuses[status].toLowerCase())}
            columns={[
              {
                id: "kind",
                title: texts.what,
                sort: ({ kind }) => kindName(kind),
                cell: ({ id, kind }) => (
                  <Link to="operations" query={{ id }}>
                    {kindName(kind)}
                  </Link>
                ),
              },
              {
                id: "status",
                title: texts.status,
                sort: ({ status: each }) => each,
                cell: (each) => <StatusBadge of={each} />,
              },
              {
                id: "asked",
                title: texts.asked,
                narrow: "below",
                sort: ({ created_at: at }) => Date.parse(at),
                cell: ({ created_at: at }) => <Time at={at} />,
              },
              {
                id: "took",
                title: texts.took,
                align: "end",
                narrow: "hide",
                sort: (each) => took(each) ?? 0,
                cell: (each) => {
                  const seconds = took(each);
                  return seconds === undefined ? "" : duration(seconds);
                },
              },
              { id: "outcome", title: texts.outcome, narrow: "below", cell: (each) => <Outcome of={each} /> },
            ]}
          />
        )}
      </Loaded>
    </Page>
  );
}

function One({ id }: { readonly id: string }): JSX.Element {
  return (
    <Page
      title={texts.what}
      actions={<Link to="operations">{texts.all}</Link>}
      commands={[commandOf("getOperation", { params: { id } }, `steward operations show ${id}`)]}
    >
      <OperationView key={id} id={id} />
    </Page>
  );
}

export function OperationsPage(): JSX.Element {
  const id = query.value.get("id");
  return id === null ? <List /> : <One id={id} />;
}
