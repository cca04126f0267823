import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { call } from "../api/call.ts";
import { refreshAll, useCall } from "../api/resource.ts";
import { identity, isElevated, registerPasskey, session, signOut, whyNoPasskeys } from "../session.ts";
import { accessTexts as texts } from "../texts/session.ts";
import { commandOf } from "../ui/commands.tsx";
import { passkeyError } from "../ui/elevate.tsx";
import { local } from "../ui/format.ts";
import { Page } from "../ui/page.tsx";
import { Badge, Card, Facts, Loaded, Problem, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

/** Runs what somebody asked for, and says what it did or what went wrong. */
function useAttempt() {
  const error = useSignal<Error | undefined>(undefined);
  const done = useSignal("");
  const attempt = async (work: () => Promise<unknown>, message: string): Promise<void> => {
    error.value = undefined;
    done.value = "";
    try {
      await work();
      done.value = message;
      refreshAll();
    } catch (thrown) {
      error.value = passkeyError(thrown);
    }
  };
  const said = (
    <>
      {error.value !== undefined && <Problem error={error.value} />}
      {done.value !== "" && (
        <p class="hint ok" role="status">
          {done.value}
        </p>
      )}
    </>
  );
  return { said, attempt };
}

function OwnSession(): JSX.Element | null {
  const own = session.value;
  const who = identity.value;
  if (own === undefined || who === undefined) return null;
  return (
    <Card title={texts.own}>
      <Facts
        of={{
          [texts.key]: `${who.name} (${who.key_id})`,
          [texts.host]: who.host ?? location.host,
          [texts.access]: own.elevated
            ? texts.mayChange(local(own.elevation_ends_at ?? own.expires_at))
            : texts.mayRead,
          [texts.idlesOut]: local(own.idles_out_at),
          [texts.expires]: local(own.expires_at),
        }}
      />
      <details>
        <summary>{texts.scopes(who.scopes.length)}</summary>
        <p class="names">
          {who.scopes.map((scope) => (
            <code key={scope}>{scope}</code>
          ))}
        </p>
      </details>
    </Card>
  );
}

function Sessions(): JSX.Element {
  const sessions = useCall("listSessions");
  const { said, attempt } = useAttempt();
  const end = (id: string, current: boolean): Promise<unknown> =>
    current ? signOut() : call("endSession", { params: { id } });
  return (
    <Card title={texts.sessions}>
      {said}
      <Loaded of={sessions}>
        {({ sessions: rows }) => (
          <Table
            label={texts.sessions}
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              {
                id: "key",
                title: texts.key,
                cell: (each) => (
                  <>
                    {each.name} {each.current && <Badge tone="info">{texts.thisOne}</Badge>}
                  </>
                ),
              },
              { id: "from", title: texts.from, narrow: "below", cell: (each) => each.remote_address ?? texts.unknown },
              { id: "since", title: texts.since, narrow: "hide", cell: (each) => <Time at={each.created_at} /> },
              { id: "used", title: texts.used, narrow: "below", cell: (each) => <Time at={each.last_used_at} /> },
              {
                id: "access",
                title: texts.access,
                narrow: "hide",
                cell: (each) => (each.elevated ? texts.elevated : texts.mayRead),
              },
              {
                id: "end",
                title: "",
                align: "end",
                cell: (each) => (
                  <button
                    type="button"
                    aria-label={each.current ? texts.endThis : texts.endOther(each.id, each.name)}
                    onClick={() => void attempt(() => end(each.id, each.current), texts.ended(each.id))}
                  >
                    {texts.end}
                  </button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Card>
  );
}

function Passkeys(): JSX.Element {
  const passkeys = useCall("listPasskeys");
  const { said, attempt } = useAttempt();
  const why = whyNoPasskeys();
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const field = form.elements.namedItem("name") as HTMLInputElement;
    const name = field.value.trim();
    void attempt(async () => {
      await registerPasskey(name);
      form.reset();
    }, texts.registered(name));
  };
  return (
    <Card title={texts.passkeys}>
      <p class="pad">{texts.passkeyHow}</p>
      {said}
      <Loaded of={passkeys}>
        {({ passkeys: rows }) =>
          rows.length === 0 ? null : (
            <Table
              label={texts.passkeys}
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { id: "name", title: texts.name, cell: (each) => each.name },
                { id: "key", title: texts.key, narrow: "below", cell: (each) => each.key_name },
                { id: "domain", title: texts.domain, narrow: "hide", cell: (each) => each.domain },
                { id: "since", title: texts.since, narrow: "hide", cell: (each) => <Time at={each.created_at} /> },
                { id: "used", title: texts.used, narrow: "below", cell: (each) => <Time at={each.last_used_at} /> },
                {
                  id: "remove",
                  title: "",
                  align: "end",
                  cell: (each) => (
                    <button
                      type="button"
                      aria-label={texts.removePasskey(each.name)}
                      onClick={() =>
                        void attempt(() => call("removePasskey", { params: { id: each.id } }), texts.removed(each.name))
                      }
                    >
                      {texts.remove}
                    </button>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {why !== undefined && <p class="pad quiet">{why}</p>}
      {why === undefined && !isElevated.value && <p class="pad quiet">{texts.passkeyNeedsAccess}</p>}
      {why === undefined && isElevated.value && (
        <form class="row pad" onSubmit={onSubmit}>
          <label>
            {texts.newPasskey}
            <input name="name" type="text" autocomplete="off" required maxLength={100} />
          </label>
          <button type="submit">{texts.register}</button>
        </form>
      )}
    </Card>
  );
}

export const AccessPage = (): JSX.Element => (
  <Page
    title={texts.title}
    actions={
      <button type="button" onClick={() => void signOut().catch(() => undefined)}>
        {texts.signOut}
      </button>
    }
    commands={[commandOf("listSessions", {}, "steward sessions"), commandOf("listPasskeys", {}, "steward passkeys")]}
  >
    <OwnSession />
    <Sessions />
    <Passkeys />
  </Page>
);
