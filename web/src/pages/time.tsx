import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { pace, useCall } from "../api/resource.ts";
import { timeTexts as texts } from "../texts/host.ts";
import { ActionButton } from "../ui/action.tsx";
import { commandOf } from "../ui/commands.tsx";
import { Page } from "../ui/page.tsx";
import { Badge, Card, Facts, Loaded } from "../ui/parts.tsx";

/** All zones that this browser knows; the host may have others, and says so. */
const zones = Intl.supportedValuesOf("timeZone");

/** A field whose value is planned once it is left, so that no plan is made of half a name. */
const Field = (props: {
  readonly label: string;
  readonly value: string;
  readonly list?: readonly string[];
  readonly onChange: (value: string) => void;
}): JSX.Element => (
  <label>
    {props.label}
    <input
      type="text"
      list={props.list && "zones"}
      value={props.value}
      spellcheck={false}
      onChange={({ currentTarget }) => props.onChange(currentTarget.value.trim())}
    />
    {props.list && (
      <datalist id="zones">
        {props.list.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    )}
  </label>
);

function Zone({ zone }: { readonly zone: string }): JSX.Element {
  const wanted = useSignal(zone);
  return (
    <span class="with-badge">
      {zone}
      <ActionButton
        operation="setTime"
        input={{ body: { timezone: wanted.value } }}
        label={texts.setZone}
        title={texts.zoneTitle}
        steward={`steward time set --timezone ${wanted.value}`}
        options={
          <Field label={texts.zone} value={wanted.value} list={zones} onChange={(value) => (wanted.value = value)} />
        }
      />
    </span>
  );
}

function Clock(): JSX.Element {
  const time = useCall("getTime", {}, { every: pace.seldom });
  return (
    <Card title={texts.time}>
      <Loaded of={time}>
        {(now) => (
          <>
            <Facts
              of={{
                [texts.clock]: now.time.replace("T", " ").replace(/\.\d+/, ""),
                [texts.zone]: <Zone key={now.timezone} zone={now.timezone} />,
                [texts.sync]: now.ntp_available ? (
                  <span class="with-badge">
                    {now.ntp ? texts.on : texts.off}
                    <Badge tone={now.ntp_synchronized ? "ok" : "warn"}>
                      {now.ntp_synchronized ? texts.synchronized : texts.notSynchronized}
                    </Badge>
                    <ActionButton
                      operation="setTime"
                      input={{ body: { ntp: !now.ntp } }}
                      label={now.ntp ? texts.switchOff : texts.switchOn}
                      title={texts.syncTitle}
                      steward={`steward time set --ntp ${now.ntp ? "off" : "on"}`}
                    />
                  </span>
                ) : (
                  texts.none
                ),
              }}
            />
            {now.rtc_in_local_time && <p class="hint warn">{texts.rtcLocal}</p>}
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Rename({ name }: { readonly name: string }): JSX.Element {
  const wanted = useSignal(name);
  return (
    <ActionButton
      operation="setHostname"
      input={{ body: { hostname: wanted.value } }}
      label={texts.rename}
      title={texts.renameTitle}
      steward={`steward hostname set ${wanted.value}`}
      options={<Field label={texts.newName} value={wanted.value} onChange={(value) => (wanted.value = value)} />}
    />
  );
}

function Name(): JSX.Element {
  const name = useCall("getHostname");
  return (
    <Card title={texts.host}>
      <Loaded of={name}>
        {({ hostname, static_hostname: fixed, pretty_hostname: pretty }) => (
          <Facts
            of={{
              [texts.hostname]: (
                <span class="with-badge">
                  {hostname}
                  <Rename key={hostname} name={hostname} />
                </span>
              ),
              [texts.staticName]: fixed || texts.unset,
              [texts.pretty]: pretty || texts.unset,
            }}
          />
        )}
      </Loaded>
    </Card>
  );
}

export const TimePage = (): JSX.Element => (
  <Page
    title={texts.title}
    commands={[commandOf("getTime", {}, "steward time"), commandOf("getHostname", {}, "steward hostname")]}
  >
    <div class="columns">
      <Clock />
      <Name />
    </div>
  </Page>
);
