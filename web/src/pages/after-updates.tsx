import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { RebootState } from "#contract/reboot.ts";
import type { StaleReport } from "#contract/updates.ts";
import { pace, useCall } from "../api/resource.ts";
import { texts } from "../texts/updates.ts";
import { ActionButton, isOperation } from "../ui/action.tsx";
import { local } from "../ui/format.ts";
import { Badge, Card, Facts, Loaded, Time } from "../ui/parts.tsx";
import { Check, follow } from "./apply-options.tsx";

const Names = ({ of: names }: { readonly of: readonly string[] }): JSX.Element => (
  <span class="names">
    {names.map((name) => (
      <code key={name}>{name}</code>
    ))}
  </span>
);

function Stale({ of: report }: { readonly of: StaleReport }): JSX.Element {
  const { restartable, left, processes, hidden_processes: hidden, kernel } = report;
  const isClean = restartable.length + left.length + processes.length === 0 && kernel.newest === null;
  return (
    <>
      <p class="pad">
        {isClean
          ? texts.staleNone
          : processes.length > 0 && texts.staleOf(restartable.length + left.length, processes.length)}
      </p>
      {!isClean && (
        <Facts
          of={{
            [texts.restartable]: restartable.length === 0 ? undefined : <Names of={restartable} />,
            [texts.left]:
              left.length === 0
                ? undefined
                : left.map(({ unit, reason }) => (
                    <div key={unit}>
                      <code>{unit}</code> <span class="quiet small">{reason}</span>
                    </div>
                  )),
            [texts.kernel]: kernel.newest === null ? undefined : texts.newerKernel(kernel.running, kernel.newest),
          }}
        />
      )}
      {report.service_manager && <p class="pad quiet">{texts.serviceManager}</p>}
      {hidden > 0 && <p class="pad quiet">{texts.hidden(hidden)}</p>}
      {processes.length > 0 && (
        <details>
          <summary>{texts.processes}</summary>
          <ul class="bullets small">
            {processes.map(({ pid, name, unit, files }) => (
              <li key={pid}>
                <code>{`${name} (${pid})`}</code> {unit} <span class="quiet">{files.join(", ")}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** What runs code that an update has replaced. */
export function StaleCard(): JSX.Element {
  const stale = useCall("listStale", {}, { every: pace.rarely });
  return (
    <Card
      title={texts.stale}
      aside={
        <ActionButton
          operation="restartStale"
          input={{}}
          resource="*"
          label={texts.restart}
          title={texts.restartTitle}
          disabled={stale.data?.restartable.length === 0 ? texts.nothingToRestart : undefined}
          later
          steward="steward updates restart-stale"
          isFollowed={isOperation}
          onDone={(answer) => follow(answer)}
        />
      }
    >
      <Loaded of={stale}>{(report) => <Stale of={report} />}</Loaded>
    </Card>
  );
}

function Interrupts({ of: { users, inhibitors, operation_id: id } }: { readonly of: RebootState }): JSX.Element {
  if (users.length + inhibitors.length === 0 && id === null)
    return <span class="quiet">{texts.nothingInterrupted}</span>;
  return (
    <>
      {users.length > 0 && <div>{users.join(", ")}</div>}
      {inhibitors.map(({ who, why, blocks }) => (
        <div key={`${who} ${why}`}>
          {`${who}: ${why} `}
          <Badge tone={blocks ? "bad" : "idle"}>{blocks ? texts.blocks : texts.delays}</Badge>
        </div>
      ))}
      {id !== null && <div>{texts.changesNow}</div>}
    </>
  );
}

function RebootButton({ state }: { readonly state: RebootState | undefined }): JSX.Element {
  const when = useSignal("");
  const message = useSignal("");
  const isIgnoring = useSignal(false);
  const isBlocked = state?.inhibitors.some(({ blocks }) => blocks) ?? false;
  const at = when.value === "" ? undefined : new Date(when.value).toISOString();
  return (
    <ActionButton
      operation="rebootHost"
      input={{
        body: {
          ...(at !== undefined && { at }),
          ...(message.value !== "" && { message: message.value }),
          ...(isIgnoring.value && { ignore_inhibitors: true }),
        },
      }}
      label={texts.rebootNow}
      title={texts.rebootTitle}
      steward={`steward reboot start${at === undefined ? "" : ` --at '${local(at)}'`}`}
      options={
        <>
          <label>
            {texts.rebootWhen}
            <input
              type="datetime-local"
              value={when.value}
              onChange={({ currentTarget }) => (when.value = currentTarget.value)}
            />
          </label>
          <label>
            {texts.rebootMessage}
            <input
              type="text"
              maxLength={200}
              autocomplete="off"
              value={message.value}
              onInput={({ currentTarget }) => (message.value = currentTarget.value)}
            />
          </label>
          {isBlocked && (
            <Check checked={isIgnoring.value} onChange={(is) => (isIgnoring.value = is)}>
              {texts.rebootIgnore}
            </Check>
          )}
        </>
      }
    />
  );
}

/** When the host reboots, why it should, and what that interrupts. */
export function RebootCard({ isDue }: { readonly isDue: boolean | undefined }): JSX.Element {
  const reboot = useCall("getReboot", {}, { every: pace.seldom });
  const at = reboot.data?.scheduled_at ?? null;
  return (
    <Card
      title={texts.reboot}
      aside={
        at === null ? (
          <RebootButton state={reboot.data} />
        ) : (
          <ActionButton
            operation="cancelReboot"
            input={{}}
            label={texts.rebootCancel}
            title={texts.rebootCancelTitle}
            steward="steward reboot cancel"
          />
        )
      }
    >
      <Loaded of={reboot}>
        {(state) => (
          <>
            {isDue === true && <p class="pad">{texts.rebootDue}</p>}
            {isDue === false && at === null && <p class="pad quiet">{texts.rebootNotDue}</p>}
            <Facts
              of={{
                [texts.rebootAt]:
                  state.scheduled_at === null ? undefined : (
                    <>
                      {local(state.scheduled_at)} {"("}
                      <Time at={state.scheduled_at} />
                      {")"}
                    </>
                  ),
                [texts.interrupts]: <Interrupts of={state} />,
              }}
            />
          </>
        )}
      </Loaded>
    </Card>
  );
}
