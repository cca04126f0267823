import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import type { UpdateCheck } from "#contract/updates.ts";
import { type Answer, call } from "../api/call.ts";
import { pace, refreshAll, useCall } from "../api/resource.ts";
import { Link, query, setQuery } from "../router.tsx";
import { texts as operationTexts } from "../texts/operations.ts";
import { texts } from "../texts/updates.ts";
import { commandOf } from "../ui/commands.tsx";
import { FilterField, Segments } from "../ui/filter.tsx";
import { count } from "../ui/format.ts";
import { Page } from "../ui/page.tsx";
import { Badge, Card, Empty, Loaded, NotShown, Problem, TextBox, Time } from "../ui/parts.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { RebootCard, StaleCard } from "./after-updates.tsx";
import { ApplyButton } from "./apply-options.tsx";
import { OperationView } from "./operation-view.tsx";
import { CreateSnapshotButton, Snapshots } from "./snapshots.tsx";

type Update = UpdateCheck["packages"]["updates"][number];
const keyOf = ({ name, architecture }: Update): string => `${name}:${architecture}`;

/** Brings the lists of packages up to date, which takes a while. */
function RefreshButton({ onError }: { readonly onError: (error: Error | undefined) => void }): JSX.Element {
  const isBusy = useSignal(false);
  const refresh = async (): Promise<void> => {
    isBusy.value = true;
    onError(undefined);
    try {
      await call("checkUpdates", { query: { refresh: true } });
      refreshAll();
    } catch (error) {
      onError(error as Error);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <button type="button" disabled={isBusy.value} onClick={() => void refresh()}>
      {isBusy.value ? texts.refreshing : texts.refresh}
    </button>
  );
}

function Summary({ of: check }: { readonly of: UpdateCheck }): JSX.Element {
  const { system, packages, held, checked_at: checkedAt, security_known: isKnown } = check;
  const { total, security } = packages;
  const tone = checkedAt === null ? "warn" : security > 0 ? "bad" : total > 0 ? "warn" : "ok";
  const sentence = total > 0 ? texts.pending(total, security) : checkedAt === null ? texts.unknown : texts.upToDate;
  return (
    <section class={`card result ${tone}`}>
      <h2 class="sentence">{sentence}</h2>
      {checkedAt !== null && (
        <p class="quiet">
          {texts.listsFrom} <Time at={checkedAt} />
        </p>
      )}
      {!isKnown && <p class="quiet">{texts.noSecurity(check.package_manager)}</p>}
      {held.length > 0 && (
        <p class="names">
          {texts.heldHow}
          {held.map((name) => (
            <Link key={name} to="packages" query={{ package: name }}>
              {name}
            </Link>
          ))}
        </p>
      )}
      {system.available && (
        <details>
          <summary>{texts.release(system.version)}</summary>
          <p>{system.release_date}</p>
          <TextBox label={texts.changelog}>{system.changelog}</TextBox>
        </details>
      )}
    </section>
  );
}

const columnsWith = (chosen: Signal<ReadonlySet<string>>): readonly Column<Update>[] => [
  {
    id: "name",
    title: texts.name,
    sort: ({ name }) => name,
    cell: (each) => (
      <span class="chooser">
        <input
          type="checkbox"
          aria-label={texts.choose(each.name)}
          checked={chosen.value.has(each.name)}
          onChange={({ currentTarget }) => {
            const next = new Set(chosen.value);
            if (currentTarget.checked) next.add(each.name);
            else next.delete(each.name);
            chosen.value = next;
          }}
        />
        <Link to="packages" query={{ package: each.name }}>
          {each.name}
        </Link>
      </span>
    ),
  },
  {
    id: "kind",
    title: texts.kind,
    sort: ({ is_security: is }) => (is ? 0 : 1),
    cell: ({ is_security: is }) => is && <Badge tone="bad">{texts.security}</Badge>,
  },
  { id: "from", title: texts.from, narrow: "below", cell: ({ current_version: version }) => version },
  {
    id: "to",
    title: texts.to,
    narrow: "below",
    cell: ({ new_version: version }) => <strong class="new-version">{version}</strong>,
  },
  { id: "architecture", title: texts.architecture, narrow: "hide", cell: ({ architecture }) => architecture },
];

function Pending({ of: check, chosen }: { readonly of: UpdateCheck; readonly chosen: Signal<ReadonlySet<string>> }) {
  const only = query.value.get("only") === "security" ? "security" : "all";
  const text = query.value.get("q") ?? "";
  const { updates, total, security } = check.packages;
  const rows = updates.filter(
    ({ name, is_security: is }) => name.includes(text.toLowerCase()) && (only === "all" || is),
  );
  if (total === 0) return check.checked_at === null ? null : <Empty>{texts.upToDate}</Empty>;
  return (
    <>
      <div class="row">
        <Segments
          label={texts.only}
          of={[
            { value: "all", name: `${texts.everything} ${count(total)}` },
            { value: "security", name: `${texts.security} ${count(security)}` },
          ]}
          chosen={only}
          onChoose={(value) => setQuery({ only: value === "all" ? undefined : value })}
        />
        <FilterField label={texts.filter} value={text} onChange={(q) => setQuery({ q })} />
        {chosen.value.size > 0 && (
          <button type="button" onClick={() => (chosen.value = new Set())}>
            {texts.chooseNone}
          </button>
        )}
      </div>
      <Table label={texts.title} rows={rows} keyOf={keyOf} columns={columnsWith(chosen)} />
    </>
  );
}

/** What runs now, so that nobody looks for the page of an update that they have left. */
function Running(): JSX.Element | null {
  const { data } = useCall("listOperations", { query: { status: "running", limit: 1 } }, { every: pace.usual });
  const [first] = data?.operations ?? [];
  return first === undefined ? null : (
    <p class="hint">
      {texts.running}{" "}
      <Link to="updates" query={{ operation: first.id }}>
        {texts.follow}
      </Link>
    </p>
  );
}

function Automatic({ of }: { readonly of: Answer<"getAutomaticUpdates"> }): JSX.Element {
  const { enabled, what, guard, reboot, blocked, next, last } = of;
  if (!enabled) return <p class="pad quiet">{texts.automaticOff}</p>;
  return (
    <dl class="facts">
      <Fact name={texts.what}>{texts.whats[what as "security" | "all"]}</Fact>
      <Fact name={texts.guarded}>{guard ? texts.on : texts.off}</Fact>
      <Fact name={texts.reboots}>{texts.rebootsHow[reboot]}</Fact>
      <Fact name={texts.next}>
        <Time at={next?.starts_at} />
      </Fact>
      {last !== null && (
        <Fact name={texts.last}>
          <Time at={last.ended_at} /> {texts.outcomes[last.outcome]}
          {": "}
          {last.operation_id === null ? (
            last.message
          ) : (
            <Link to="updates" query={{ operation: last.operation_id }}>
              {last.message}
            </Link>
          )}
        </Fact>
      )}
      {blocked !== null && <Fact name={texts.blocked}>{blocked}</Fact>}
    </dl>
  );
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

function Windows({ of: windows }: { readonly of: Answer<"listWindows">["windows"] }): JSX.Element {
  if (windows.length === 0) return <p class="pad quiet">{texts.noWindows}</p>;
  return (
    <ul class="lines">
      {windows.map(({ name, open, closes_at: closes, opens_next_at: opens, allow, deny }) => (
        <li key={name}>
          <div class="grow">
            <strong>{name}</strong>{" "}
            <span class="quiet">
              {open ? texts.closes : texts.opens} <Time at={open ? closes : opens} />
            </span>
            {allow.length > 0 && (
              <div class="small quiet">
                {texts.allows} {allow.join(", ")}
              </div>
            )}
            {deny.length > 0 && (
              <div class="small quiet">
                {texts.denies} {deny.join(", ")}
              </div>
            )}
          </div>
          <Badge tone={open ? "ok" : "idle"}>{open ? texts.open : texts.closed}</Badge>
        </li>
      ))}
    </ul>
  );
}

const tabs = ["updates", "snapshots"] as const;

function Overview(): JSX.Element {
  const tab = query.value.get("tab") === "snapshots" ? "snapshots" : "updates";
  const check = useCall("checkUpdates", {}, { every: pace.rarely });
  const automatic = useCall("getAutomaticUpdates");
  const windows = useCall("listWindows");
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const error = useSignal<Error | undefined>(undefined);
  const names = (check.data?.packages.updates ?? []).map(({ name }) => name);
  const wanted = names.filter((name, at) => chosen.value.has(name) && names.indexOf(name) === at);
  return (
    <Page
      title={texts.title}
      actions={
        tab === "updates" ? (
          <>
            <RefreshButton onError={(thrown) => (error.value = thrown)} />
            <ApplyButton
              chosen={wanted}
              securityOnly={query.value.get("only") === "security"}
              disabled={check.data?.packages.total === 0 ? texts.upToDate : undefined}
            />
          </>
        ) : (
          <CreateSnapshotButton />
        )
      }
      commands={
        tab === "updates"
          ? [
              commandOf("checkUpdates", {}, "steward updates"),
              commandOf("getAutomaticUpdates", {}, "steward updates automatic"),
              commandOf("listStale", {}, "steward updates stale"),
              commandOf("getReboot", {}, "steward reboot"),
            ]
          : [commandOf("listSnapshots", {}, "steward snapshots")]
      }
    >
      <Segments
        label={texts.view}
        of={tabs.map((value) => ({ value, name: texts.tabs[value] }))}
        chosen={tab}
        onChoose={(value) => setQuery({ tab: value === "updates" ? undefined : value }, { replace: false })}
      />
      <Running />
      {error.value !== undefined && <Problem error={error.value} />}
      {tab === "snapshots" ? (
        <Snapshots />
      ) : (
        <div class="split">
          <div class="stack">
            <Loaded of={check} rows={8}>
              {(data) => (
                <>
                  <Summary of={data} />
                  <NotShown list={data.not_shown} />
                  <Pending of={data} chosen={chosen} />
                </>
              )}
            </Loaded>
          </div>
          <div class="stack">
            <StaleCard />
            <RebootCard isDue={check.data?.requires_reboot} />
            <Card title={texts.automatic}>
              <Loaded of={automatic}>{(data) => <Automatic of={data} />}</Loaded>
            </Card>
            <Card title={texts.windows}>
              <Loaded of={windows}>{({ windows: list }) => <Windows of={list} />}</Loaded>
            </Card>
          </div>
        </div>
      )}
    </Page>
  );
}

/** One update from its plan to its verdict. */
function Live({ id }: { readonly id: string }): JSX.Element {
  return (
    <Page
      title={texts.title}
      actions={
        <>
          <Link to="updates">{texts.all}</Link>
          <Link to="operations">{operationTexts.all}</Link>
        </>
      }
      commands={[commandOf("getOperation", { params: { id } }, `steward operations watch ${id}`)]}
    >
      <OperationView key={id} id={id} />
    </Page>
  );
}

export function UpdatesPage(): JSX.Element {
  const id = query.value.get("operation");
  return id === null ? <Overview /> : <Live id={id} />;
}
