import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { NetworkLink, NetworkState } from "#contract/network.ts";
import { pace, useCall } from "../api/resource.ts";
import { Link } from "../router.tsx";
import { networkTexts as texts } from "../texts/host.ts";
import { commandOf } from "../ui/commands.tsx";
import { Page } from "../ui/page.tsx";
import { Badge, Card, Empty, Facts, Loaded, NotShown, type Tone } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

function stateOf({ is_up: isUp, has_carrier: hasCarrier }: NetworkLink): readonly [Tone, string] {
  if (!isUp) return ["idle", texts.off];
  return hasCarrier ? ["ok", texts.up] : ["warn", texts.noCarrier];
}

const Links = ({ of }: { readonly of: readonly NetworkLink[] }): JSX.Element => (
  <Card title={texts.links}>
    <Table
      label={texts.links}
      rows={of}
      keyOf={({ name }) => name}
      columns={[
        {
          id: "name",
          title: texts.link,
          cell: (each) => {
            const [tone, state] = stateOf(each);
            return (
              <span class="with-badge">
                <strong>{each.name}</strong>
                <Badge tone={tone}>{state}</Badge>
              </span>
            );
          },
        },
        {
          id: "addresses",
          title: texts.addresses,
          narrow: "below",
          cell: ({ addresses }) => (
            <span class="names">
              {addresses.map(({ address, prefix_length: length }) => (
                <code key={`${address}/${length}`}>{`${address}/${length}`}</code>
              ))}
            </span>
          ),
        },
        {
          id: "kind",
          title: texts.state,
          narrow: "hide",
          cell: ({ kind, master }) => [kind, master && texts.partOf(master)].filter(Boolean).join(", "),
        },
        {
          id: "speed",
          title: texts.speed,
          narrow: "hide",
          cell: ({ speed_mbps: speed }) => (speed === null ? "" : texts.mbps(speed)),
        },
        { id: "mac", title: texts.mac, narrow: "hide", cell: ({ mac }) => <code>{mac}</code> },
      ]}
    />
  </Card>
);

function Listeners({
  of,
  total,
}: {
  readonly of: NetworkState["listeners"];
  readonly total: number | null;
}): JSX.Element {
  const text = useSignal("");
  const wanted = text.value.toLowerCase();
  const rows = (of ?? []).filter(({ address, port, unit, protocol }) =>
    `${protocol} ${address}:${port} ${unit ?? ""}`.toLowerCase().includes(wanted),
  );
  return (
    <Card
      title={texts.listeners}
      aside={
        <input
          type="search"
          aria-label={texts.filter}
          placeholder={texts.filter}
          value={text.value}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
          }}
        />
      }
    >
      {of === null ? (
        <Empty icon="warning">{texts.listenersUnknown}</Empty>
      ) : (
        <Table
          label={texts.listeners}
          rows={rows}
          keyOf={(each) => `${each.protocol} ${each.address} ${each.port} ${each.unit ?? ""}`}
          columns={[
            {
              id: "port",
              title: texts.port,
              sort: ({ port }) => port,
              cell: ({ port, protocol }) => (
                <>
                  <strong>{port}</strong> <span class="quiet">{protocol}</span>
                </>
              ),
            },
            {
              id: "address",
              title: texts.address,
              narrow: "below",
              sort: ({ address }) => address,
              cell: ({ address }) => <code>{address}</code>,
            },
            {
              id: "unit",
              title: texts.unit,
              narrow: "below",
              sort: ({ unit }) => unit ?? "",
              cell: ({ unit }) =>
                unit === null ? (
                  <span class="quiet">{texts.unknown}</span>
                ) : (
                  <Link to="services" query={{ unit }}>
                    {unit}
                  </Link>
                ),
            },
          ]}
        />
      )}
      {of !== null && total !== null && total > of.length && <p class="pad quiet">{texts.more(of.length, total)}</p>}
    </Card>
  );
}

const Routes = ({ of, total }: { readonly of: NetworkState["routes"]; readonly total: number }): JSX.Element => (
  <Card title={texts.routes} aside={total > of.length && <span class="quiet">{texts.more(of.length, total)}</span>}>
    <Table
      label={texts.routes}
      rows={of}
      keyOf={(each) => `${each.family} ${each.destination} ${each.gateway} ${each.link} ${each.metric} ${each.type}`}
      columns={[
        {
          id: "to",
          title: texts.destination,
          cell: ({ destination, family }) => <code>{`${destination} ${destination === "default" ? family : ""}`}</code>,
        },
        {
          id: "by",
          title: texts.gateway,
          narrow: "below",
          cell: ({ gateway, type }) =>
            type === "unicast" ? (gateway ?? <span class="quiet">{texts.direct}</span>) : type,
        },
        { id: "link", title: texts.link, narrow: "below", cell: ({ link }) => link ?? texts.nowhere },
        { id: "metric", title: texts.metric, align: "end", narrow: "hide", cell: ({ metric }) => metric },
      ]}
    />
  </Card>
);

export function NetworkPage(): JSX.Element {
  const network = useCall("getNetwork", {}, { every: pace.seldom });
  return (
    <Page title={texts.title} commands={[commandOf("getNetwork", {}, "steward network")]}>
      <Loaded of={network} rows={6}>
        {(state) => (
          <>
            <NotShown list={state.notes.map((reason) => ({ what: texts.title, reason }))} />
            <Links of={state.links} />
            <div class="columns">
              <Listeners of={state.listeners} total={state.listeners_total} />
              <div class="page">
                <Card title={texts.resolvers}>
                  <Facts
                    of={{
                      [texts.servers]: state.resolvers.servers.join(", ") || texts.none,
                      [texts.upstream]: state.resolvers.upstream.join(", ") || undefined,
                    }}
                  />
                </Card>
                <Routes of={state.routes} total={state.routes_total} />
              </div>
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}
