import type { JSX } from "preact";
import type { PackageEntry, PackageTransaction } from "#contract/packages.ts";
import { useCall } from "../api/resource.ts";
import { query, setQuery } from "../router.tsx";
import { texts } from "../texts/packages.ts";
import { commandOf } from "../ui/commands.tsx";
import { FilterField, Segments } from "../ui/filter.tsx";
import { bytes, count } from "../ui/format.ts";
import { Page } from "../ui/page.tsx";
import { Badge, Empty, Loaded, NotShown, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { PackageDrawer } from "./package-drawer.tsx";

const fewRows = 100;
const mostRows = 1000;

/** So many rows as were asked for last, in the address. */
const limitOf = (): number => (query.value.get("more") === null ? fewRows : mostRows);

function More({ shown, total }: { readonly shown: number; readonly total: number | undefined }): JSX.Element | null {
  const isMost = limitOf() === mostRows;
  if (total !== undefined && shown >= total) return null;
  return (
    <p class="row">
      {total !== undefined && <span class="quiet">{texts.more(count(shown), count(total))}</span>}
      {!isMost && (
        <button type="button" onClick={() => setQuery({ more: "1" })}>
          {texts.showMore}
        </button>
      )}
    </p>
  );
}

function Version({ of: { version, installed_version: installed } }: { readonly of: PackageEntry }): JSX.Element {
  return <>{installed === null || installed === version ? version : texts.newer(installed, version)}</>;
}

const shows = ["all", "installed", "available"] as const;
type Show = (typeof shows)[number];

function useSearch() {
  const search = query.value.get("search") ?? "";
  const asked = query.value.get("show");
  // Without a word to look for, what is there is what matters.
  const show: Show = shows.find((each) => each === asked) ?? (search === "" ? "installed" : "all");
  const input = {
    query: {
      limit: limitOf(),
      ...(search.trim() !== "" && { search: search.trim() }),
      ...(show !== "all" && { installed: show === "installed" }),
    },
  };
  return { search, show, input };
}

function Search(): JSX.Element {
  const { search, show, input } = useSearch();
  const list = useCall("searchPackages", input);
  return (
    <>
      <div class="row">
        <FilterField
          label={texts.search}
          value={search}
          onChange={(value) => setQuery({ search: value, more: undefined })}
        />
        <Segments
          label={texts.show}
          of={shows.map((value) => ({ value, name: texts.shows[value] }))}
          chosen={show}
          onChoose={(value) => setQuery({ show: value, more: undefined })}
        />
      </div>
      <Loaded of={list} rows={10}>
        {({ packages, total, not_shown: lacks }) => (
          <>
            <NotShown list={lacks} />
            <Table
              label={texts.title}
              rows={packages}
              keyOf={({ name, architecture }) => `${name}:${architecture}`}
              empty={texts.none}
              columns={[
                {
                  id: "name",
                  title: texts.name,
                  cell: (each) => (
                    <button
                      type="button"
                      class="plain"
                      onClick={() => setQuery({ package: each.name }, { replace: false })}
                    >
                      {each.name}
                    </button>
                  ),
                },
                { id: "version", title: texts.version, narrow: "below", cell: (each) => <Version of={each} /> },
                {
                  id: "installed",
                  title: texts.installed,
                  cell: (each) =>
                    each.installed_version !== null && (
                      <Badge tone={each.installed_version === each.version ? "ok" : "warn"}>
                        {each.installed_version === each.version ? texts.installed : texts.updatable}
                      </Badge>
                    ),
                },
                { id: "section", title: texts.section, narrow: "hide", cell: ({ section }) => section },
                { id: "summary", title: texts.summary, narrow: "below", cell: ({ summary }) => summary },
                {
                  id: "size",
                  title: texts.size,
                  align: "end",
                  narrow: "hide",
                  cell: ({ installed_bytes: size }) => bytes(size),
                },
              ]}
            />
            <More shown={packages.length} total={total} />
          </>
        )}
      </Loaded>
    </>
  );
}

const actions = ["install", "upgrade", "downgrade", "reinstall", "remove", "purge"] as const;

/** How many packages were installed, updated and so on. */
const summaryOf = ({ packages }: PackageTransaction): string =>
  actions
    .map((action) => [action, packages.filter((each) => each.action === action).length] as const)
    .filter(([, number]) => number > 0)
    .map(([action, number]) => texts.done(number, texts.actions[action]))
    .join(", ");

function Transaction({ of: transaction }: { readonly of: PackageTransaction }): JSX.Element {
  const { packages } = transaction;
  return (
    <details class="transaction">
      <summary>
        {summaryOf(transaction)}
        {": "}
        <span class="quiet">
          {packages
            .filter(({ automatic }) => !automatic)
            .slice(0, 6)
            .map(({ name }) => name)
            .join(", ")}
        </span>
      </summary>
      <ul class="bullets small">
        {packages.map(({ name, architecture, action, from, to, automatic }) => (
          <li key={`${name}:${architecture} ${action}`}>
            <button
              type="button"
              class="plain"
              onClick={() => setQuery({ package: name, tab: "history" }, { replace: false })}
            >
              {name}
            </button>{" "}
            {texts.actions[action]} {[from, to].filter((version) => version !== null).join(" → ")}{" "}
            {automatic && <span class="quiet">{texts.alongs}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

function History(): JSX.Element {
  const history = useCall("listPackageHistory", { query: { limit: limitOf() } });
  return (
    <Loaded of={history} rows={8}>
      {({ transactions, next_cursor: next }) => (
        <>
          {transactions.length === 0 ? (
            <Empty>{texts.noHistory}</Empty>
          ) : (
            <Table
              label={texts.tabs.history}
              rows={transactions}
              keyOf={({ started_at: at, command, packages }) => `${at} ${command} ${packages[0]?.name}`}
              columns={[
                {
                  id: "when",
                  title: texts.when,
                  cell: ({ started_at: at }) => <Time at={at} />,
                },
                { id: "what", title: texts.what, cell: (each) => <Transaction of={each} /> },
                {
                  id: "command",
                  title: texts.command,
                  narrow: "below",
                  cell: ({ command, requested_by: by, error }) => (
                    <>
                      <code class="clip">{command ?? texts.notShown}</code>
                      {by !== null && <span class="quiet small">{` ${texts.by} ${by}`}</span>}
                      {error !== null && <span class="bad-text small">{` ${error}`}</span>}
                    </>
                  ),
                },
              ]}
            />
          )}
          {next != null && <More shown={transactions.length} total={undefined} />}
        </>
      )}
    </Loaded>
  );
}

const tabs = ["packages", "history"] as const;

export function PackagesPage(): JSX.Element {
  const tab = query.value.get("tab") === "history" ? "history" : "packages";
  const name = query.value.get("package");
  return (
    <Page
      title={texts.title}
      commands={
        tab === "history"
          ? [commandOf("listPackageHistory", {}, "steward packages history")]
          : [
              commandOf("searchPackages", useSearch().input, "steward packages search"),
              ...(name === null
                ? []
                : [commandOf("getPackage", { params: { name } }, `steward packages show ${name}`)]),
            ]
      }
    >
      <Segments
        label={texts.view}
        of={tabs.map((value) => ({ value, name: texts.tabs[value] }))}
        chosen={tab}
        onChoose={(value) =>
          setQuery({ tab: value === "packages" ? undefined : value, more: undefined }, { replace: false })
        }
      />
      {tab === "history" ? <History /> : <Search />}
      {name !== null && <PackageDrawer key={name} name={name} onClose={() => setQuery({ package: undefined })} />}
    </Page>
  );
}
