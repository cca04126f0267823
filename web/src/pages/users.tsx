import type { JSX } from "preact";
import type { UserEntry } from "#contract/accounts.ts";
import type { Answer } from "../api/call.ts";
import { pace, useCall } from "../api/resource.ts";
import { query, setQuery } from "../router.tsx";
import { usersTexts as texts } from "../texts/host.ts";
import { commandOf } from "../ui/commands.tsx";
import { count } from "../ui/format.ts";
import { Page } from "../ui/page.tsx";
import { Badge, Card, Empty, Loaded, NotShown, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

const from = (host: string): string | JSX.Element => (host === "" ? <span class="quiet">{texts.here}</span> : host);

const signsIn = ({ can_sign_in: can }: UserEntry): JSX.Element => {
  if (can === null) return <Badge tone="warn">{texts.unknown}</Badge>;
  return can ? <Badge tone="info">{texts.yes}</Badge> : <span class="quiet">{texts.no}</span>;
};

const keysOf = ({ authorized_keys: keys }: UserEntry): JSX.Element =>
  keys === null ? (
    <span class="quiet">{texts.unknown}</span>
  ) : keys.length === 0 ? (
    <span class="quiet">–</span>
  ) : (
    <details>
      <summary>{count(keys.length)}</summary>
      {keys.map(({ fingerprint, type, comment }) => (
        <div key={fingerprint} class="small">
          <code>{fingerprint}</code> {`${type} ${comment}`}
        </div>
      ))}
    </details>
  );

function Users(): JSX.Element {
  const isAll = query.value.get("all") !== null;
  const users = useCall("listUsers", isAll ? {} : { query: { sign_in: true } });
  const choice = (all: boolean, label: string): JSX.Element => (
    <button type="button" aria-pressed={isAll === all} onClick={() => setQuery({ all: all ? "1" : undefined })}>
      {label}
    </button>
  );
  return (
    <Card
      title={texts.users}
      aside={
        <div class="segments">
          {choice(false, texts.people)}
          {choice(true, texts.all)}
        </div>
      }
    >
      <Loaded of={users}>
        {({ users: rows, not_shown: missing }) => (
          <>
            <NotShown list={missing} />
            <Table
              label={texts.users}
              rows={rows}
              keyOf={({ name }) => name}
              columns={[
                {
                  id: "name",
                  title: texts.user,
                  sort: ({ name }) => name,
                  cell: ({ name, comment }) => (
                    <>
                      <strong>{name}</strong> <span class="quiet">{comment === name ? "" : comment}</span>
                    </>
                  ),
                },
                { id: "in", title: texts.signsIn, narrow: "below", cell: signsIn },
                {
                  id: "password",
                  title: texts.password,
                  narrow: "hide",
                  cell: ({ password }) => password ?? texts.unknown,
                },
                { id: "keys", title: texts.keys, narrow: "hide", cell: keysOf },
                { id: "groups", title: texts.groups, narrow: "below", cell: ({ groups }) => groups.join(", ") },
                { id: "shell", title: texts.shell, narrow: "hide", cell: ({ shell }) => <code>{shell}</code> },
                {
                  id: "uid",
                  title: texts.uid,
                  align: "end",
                  narrow: "hide",
                  sort: ({ uid }) => uid,
                  cell: ({ uid }) => uid,
                },
              ]}
            />
          </>
        )}
      </Loaded>
    </Card>
  );
}

type Logins = Answer<"listLogins">;

const Sessions = ({ of }: { readonly of: Logins["sessions"] }): JSX.Element => (
  <Card title={texts.sessions}>
    {of === null || of.length === 0 ? (
      <Empty icon={of === null ? "warning" : "ok"}>{of === null ? texts.sessionsUnknown : texts.nobody}</Empty>
    ) : (
      <Table
        label={texts.sessions}
        rows={of}
        keyOf={({ id }) => id}
        columns={[
          { id: "user", title: texts.user, cell: ({ user }) => <strong>{user}</strong> },
          { id: "from", title: texts.from, narrow: "below", cell: ({ remote_host: host }) => from(host) },
          {
            id: "by",
            title: texts.by,
            narrow: "hide",
            cell: ({ service, tty }) => [service, tty].filter(Boolean).join(", "),
          },
          { id: "since", title: texts.since, align: "end", narrow: "below", cell: ({ since }) => <Time at={since} /> },
        ]}
      />
    )}
  </Card>
);

const Failed = ({ of }: { readonly of: Logins["failed"] }): JSX.Element => (
  <Card title={texts.failed}>
    {of === null || of.length === 0 ? (
      <Empty icon={of === null ? "warning" : "ok"}>{of === null ? texts.failedUnknown : texts.noFailed}</Empty>
    ) : (
      <Table
        label={texts.failed}
        rows={of}
        keyOf={(each) => `${each.at} ${each.user} ${each.remote_host} ${each.method}`}
        columns={[
          {
            id: "user",
            title: texts.user,
            sort: ({ user }) => user,
            cell: ({ user, known_user: isKnown }) => (
              <>
                <strong>{user}</strong> {!isKnown && <span class="quiet">{texts.unknownUser}</span>}
              </>
            ),
          },
          {
            id: "from",
            title: texts.from,
            narrow: "below",
            sort: ({ remote_host: host }) => host,
            cell: ({ remote_host: host }) => from(host),
          },
          { id: "method", title: texts.method, narrow: "hide", cell: ({ method, service }) => method || service },
          {
            id: "at",
            title: texts.at,
            align: "end",
            narrow: "below",
            sort: ({ at }) => -Date.parse(at),
            cell: ({ at }) => <Time at={at} />,
          },
        ]}
      />
    )}
  </Card>
);

const Recent = ({ of }: { readonly of: Logins["recent"] }): JSX.Element => (
  <Card title={texts.recent}>
    {of === null || of.length === 0 ? (
      <Empty>{of === null ? texts.unknown : texts.noRecent}</Empty>
    ) : (
      <Table
        label={texts.recent}
        rows={of}
        keyOf={(each) => `${each.started_at} ${each.user} ${each.tty}`}
        columns={[
          { id: "user", title: texts.user, cell: ({ user }) => <strong>{user}</strong> },
          { id: "from", title: texts.from, narrow: "below", cell: ({ remote_host: host }) => from(host) },
          {
            id: "at",
            title: texts.since,
            align: "end",
            narrow: "below",
            cell: ({ started_at: at }) => <Time at={at} />,
          },
          {
            id: "end",
            title: texts.end,
            align: "end",
            narrow: "hide",
            cell: ({ ended_at: at }) => (at === null ? <span class="quiet">–</span> : <Time at={at} />),
          },
        ]}
      />
    )}
  </Card>
);

export function UsersPage(): JSX.Element {
  const logins = useCall("listLogins", { query: { limit: 100 } }, { every: pace.seldom });
  return (
    <Page
      title={texts.title}
      commands={[commandOf("listUsers", {}, "steward users"), commandOf("listLogins", {}, "steward logins")]}
    >
      <Loaded of={logins}>
        {({ sessions, failed, recent, not_shown: missing }) => (
          <>
            <NotShown list={missing} />
            <div class="columns">
              <Sessions of={sessions} />
              <Failed of={failed} />
              <Recent of={recent} />
            </div>
          </>
        )}
      </Loaded>
      <Users />
    </Page>
  );
}
