import type { JSX } from "preact";
import type { Approval } from "#contract/approvals.ts";
import { pace, useCall } from "../api/resource.ts";
import { Link, query, setQuery } from "../router.tsx";
import { texts } from "../texts/approvals.ts";
import { commandOf } from "../ui/commands.tsx";
import { Segments } from "../ui/filter.tsx";
import { count } from "../ui/format.ts";
import { Page } from "../ui/page.tsx";
import { Loaded, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { ApprovalDrawer, ApprovalStatus, callOf, targetOf } from "./approval-drawer.tsx";

const filters = ["pending", "running", "done", "failed", "denied", "expired", "cancelled", "all"] as const;
const mostListed = 100;

/** Until when it can be approved, or what became of it. */
function Outcome({ of }: { readonly of: Approval }): JSX.Element {
  if (of.status === "pending")
    return (
      <span class="nowrap">
        {texts.expires} <Time at={of.expires_at} />
      </span>
    );
  return <span class="clip">{of.error?.message ?? of.decision ?? ""}</span>;
}

/** Calls that wait for approval, or those of another status, and the one of the address in a drawer. */
export function ApprovalsPage(): JSX.Element {
  const status = filters.find((each) => each === query.value.get("status")) ?? "pending";
  const id = query.value.get("id");
  const input = { query: { limit: mostListed, ...(status !== "all" && { status }) } };
  const list = useCall("listApprovals", input, { every: pace.usual, waits: true });
  return (
    <Page
      title={texts.title}
      count={list.data && count(list.data.total)}
      commands={[
        commandOf(
          "listApprovals",
          input,
          status === "all" ? "steward approvals" : `steward approvals list --status ${status}`,
        ),
        commandOf("listApprovals", { query: { wait: "30s" } }, "steward approvals watch"),
      ]}
    >
      <div class="row">
        <Segments
          label={texts.filter}
          of={filters.map((value) => ({ value, name: texts.filters[value] }))}
          chosen={status}
          onChoose={(value) => setQuery({ status: value === "pending" ? undefined : value })}
        />
        <p class="quiet small">{texts.about}</p>
      </div>
      <Loaded of={list} rows={6}>
        {({ approvals, total }) => (
          <>
            <Table
              label={texts.title}
              rows={approvals}
              keyOf={(each) => each.id}
              empty={status === "pending" ? texts.none : texts.noneOf}
              columns={[
                {
                  id: "call",
                  title: texts.call,
                  sort: callOf,
                  cell: (each) => (
                    <>
                      <Link to="approvals" query={{ ...Object.fromEntries(query.value), id: each.id }}>
                        {callOf(each)}
                      </Link>
                      {targetOf(each) === "" && <div class="quiet small">{each.plan.steps[0]}</div>}
                    </>
                  ),
                },
                {
                  id: "status",
                  title: texts.status,
                  narrow: "below",
                  sort: (each) => each.status,
                  cell: (each) => <ApprovalStatus of={each} />,
                },
                {
                  id: "proposer",
                  title: texts.proposer,
                  narrow: "below",
                  sort: ({ proposer }) => proposer.name,
                  cell: ({ proposer }) => proposer.name,
                },
                {
                  id: "proposed",
                  title: texts.proposed,
                  narrow: "below",
                  sort: ({ created_at: at }) => Date.parse(at),
                  cell: ({ created_at: at }) => <Time at={at} />,
                },
                { id: "reason", title: texts.reason, narrow: "hide", cell: ({ reason }) => reason },
                { id: "outcome", title: texts.outcome, narrow: "below", cell: (each) => <Outcome of={each} /> },
              ]}
            />
            {approvals.length < total && (
              <p class="quiet small">{texts.newest(count(approvals.length), count(total))}</p>
            )}
          </>
        )}
      </Loaded>
      {id !== null && (
        <ApprovalDrawer key={id} id={id} revision={list.data?.revision} onClose={() => setQuery({ id: undefined })} />
      )}
    </Page>
  );
}
