import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { OperationDetail, OperationEntry } from "#contract/operation-entry.ts";
import type { ChangedPackage, GuardVerdict, RollbackReport, StaleRestart } from "#contract/updates.ts";
import { useCall } from "../api/resource.ts";
import { Link } from "../router.tsx";
import { kinds, texts } from "../texts/operations.ts";
import { ActionButton } from "../ui/action.tsx";
import { duration } from "../ui/format.ts";
import { isOver, useOperation } from "../ui/operation.tsx";
import { Badge, Card, Facts, Loaded, Meter, TextBox, Time, type Tone } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { type Applied, isChange, isRollback, type Stage, stagesOf, wasCancelled } from "./stages.ts";

export const kindName = (kind: string): string => kinds[kind] ?? kind;

/** What an operation has come to, in a word. */
export function StatusBadge({ of: entry }: { readonly of: OperationEntry }): JSX.Element {
  const { status, result } = entry;
  if (status === "done" && (result as { success?: boolean } | null)?.success === false)
    return <Badge tone="warn">{texts.problems}</Badge>;
  if (wasCancelled(entry)) return <Badge tone="idle">{texts.cancelled}</Badge>;
  const tones = { queued: "idle", running: "info", done: "ok", failed: "bad" } as const;
  return <Badge tone={tones[status]}>{texts.statuses[status]}</Badge>;
}

/** Seconds from the start to the end, or to now. */
export const took = ({ started_at: from, finished_at: to }: OperationEntry): number | undefined =>
  from === null ? undefined : Math.max(0, ((to === null ? Date.now() : Date.parse(to)) - Date.parse(from)) / 1000);

/** Counts down to a time. */
function TimeLeft({ until }: { readonly until: string }): JSX.Element {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.round((Date.parse(until) - now.value) / 1000);
  return <>{seconds > 0 ? texts.left(duration(seconds)) : texts.almost}</>;
}

function Stages({ of: stages, until }: { readonly of: readonly Stage[]; readonly until: string | undefined }) {
  return (
    <ol class="stages">
      {stages.map(({ id, state, detail, tone }) => (
        <li key={id} class={`${state} ${tone ?? ""}`} aria-current={state === "now" ? "step" : undefined}>
          <strong>{texts.stages[id]}</strong>
          <span class="hidden">{texts.stageState[state]}</span>
          {detail !== undefined && <span class="quiet small">{detail}</span>}
          {state === "now" && until !== undefined && (
            <span class="quiet small">
              <TimeLeft until={until} />
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

const Lines = ({ title, of: lines }: { readonly title: string; readonly of: readonly string[] | undefined }) =>
  lines === undefined || lines.length === 0 ? null : (
    <div>
      <h3>{title}</h3>
      <ul class="bullets">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );

const SnapshotLink = ({ id }: { readonly id: string }): JSX.Element => (
  <Link to="updates" query={{ tab: "snapshots", snapshot: id }}>
    {id}
  </Link>
);

const Changes = ({ of: packages }: { readonly of: readonly ChangedPackage[] }): JSX.Element | null =>
  packages.length === 0 ? null : (
    <Card title={texts.packages}>
      <Table
        label={texts.packages}
        rows={packages}
        keyOf={({ name, from, to }) => `${name} ${from} ${to}`}
        columns={[
          {
            id: "name",
            title: texts.name,
            sort: ({ name }) => name,
            cell: ({ name }) => (
              <Link to="packages" query={{ package: name }}>
                {name}
              </Link>
            ),
          },
          { id: "from", title: texts.from, cell: ({ from }) => from ?? texts.absent },
          { id: "to", title: texts.to, cell: ({ to }) => to ?? texts.absent },
        ]}
      />
    </Card>
  );

const ofGuard: Readonly<Record<GuardVerdict["outcome"], readonly [Tone, string]>> = {
  kept: ["ok", ""],
  rolled_back: ["warn", texts.sentences.rolledBack],
  rolled_back_still_worse: ["bad", texts.sentences.stillWorse],
  rollback_failed: ["bad", texts.sentences.rollbackFailed],
};

function sentenceOf({ success, packages, guard }: Applied): readonly [Tone, string] {
  if (guard !== undefined && guard.outcome !== "kept") return ofGuard[guard.outcome];
  if (!success) return ["bad", texts.sentences.problems];
  if (packages.length === 0) return ["ok", texts.sentences.nothing];
  return ["ok", guard === undefined ? texts.sentences.updated(packages.length) : texts.sentences.kept(packages.length)];
}

function AppliedResult({ of: result }: { readonly of: Applied }): JSX.Element {
  const { guard, error, requires_restart: stale, kept_configs: kept } = result;
  const [tone, sentence] = sentenceOf(result);
  return (
    <>
      <section class={`card result ${tone}`}>
        <h2 class="sentence">{sentence}</h2>
        <Lines title={texts.gotWorse} of={guard?.worse} />
        <Lines title={texts.newErrors} of={guard?.new_errors?.map(({ unit, text }) => `${unit} ${text}`.trim())} />
        <Lines title={texts.remaining} of={guard?.remaining} />
        <Lines title={texts.restarted} of={guard?.restarted} />
        {error !== null && guard?.worse.length === undefined && <p>{error}</p>}
        {error !== null && guard !== undefined && (
          <details>
            <summary>{texts.message}</summary>
            <p>{error}</p>
          </details>
        )}
        <Facts
          of={{
            [texts.snapshot]: result.snapshot_id === "" ? undefined : <SnapshotLink id={result.snapshot_id} />,
            [texts.requiresRestart]: stale.length === 0 ? undefined : stale.join(", "),
            [texts.keptConfigs]: kept?.map(({ file, offered }) => (
              <div key={file}>
                <code>{file}</code> {"("}
                <code>{offered}</code>
                {")"}
              </div>
            )),
          }}
        />
        {result.requires_reboot && <p class="hint warn">{texts.requiresReboot}</p>}
      </section>
      <Changes of={result.packages} />
    </>
  );
}

function RollbackResult({ of: result }: { readonly of: RollbackReport }): JSX.Element {
  return (
    <>
      <section class={`card result ${result.success ? "ok" : "bad"}`}>
        <h2 class="sentence">{result.message}</h2>
        <Facts
          of={{
            [texts.safety]:
              result.safety_snapshot_id === "" ? undefined : <SnapshotLink id={result.safety_snapshot_id} />,
            [texts.filesRestored]: result.files_restored,
          }}
        />
        <Lines title={texts.filesLeft} of={result.files_left} />
        {result.requires_reboot && <p class="hint warn">{texts.requiresReboot}</p>}
      </section>
      <Changes of={result.packages} />
    </>
  );
}

const RestartResult = ({ of: { success, message, restarted, left } }: { readonly of: StaleRestart }): JSX.Element => (
  <section class={`card result ${success ? "ok" : "bad"}`}>
    <h2 class="sentence">{message}</h2>
    <Facts of={Object.fromEntries(restarted.map((each) => [each.unit, each.success ? texts.ok : each.message]))} />
    <Lines title={texts.filesLeft} of={left.map(({ unit, reason }) => `${unit}: ${reason}`)} />
  </section>
);

function Result({ of: { kind, status, result, error } }: { readonly of: OperationEntry }): JSX.Element | null {
  if (status === "failed") {
    const isCancelled = wasCancelled({ error });
    return (
      <section class={`card result ${isCancelled ? "idle" : "bad"}`}>
        <h2 class="sentence">{isCancelled ? texts.sentences.cancelled : texts.sentences.failed}</h2>
        {!isCancelled && <p>{error?.message}</p>}
      </section>
    );
  }
  if (status !== "done" || typeof result !== "object" || result === null) return null;
  if (isChange(kind)) return <AppliedResult of={result as Applied} />;
  if (isRollback(kind)) return <RollbackResult of={result as RollbackReport} />;
  if (kind === "updates.restart_stale") return <RestartResult of={result as StaleRestart} />;
  const { message, id } = result as { readonly message?: string; readonly id?: string };
  return (
    <section class="card result ok">
      <h2 class="sentence">{message ?? texts.sentences.done}</h2>
      {kind === "snapshots.create" && id !== undefined && <SnapshotLink id={id} />}
    </section>
  );
}

const Log = ({ lines }: { readonly lines: readonly string[] }): JSX.Element => (
  <Card title={texts.log}>
    {lines.length === 0 ? (
      <p class="pad quiet">{texts.noLog}</p>
    ) : (
      <TextBox label={texts.log} followed={lines.join("\n")}>
        {lines.join("\n")}
      </TextBox>
    )}
  </Card>
);

function Following({ of: detail }: { readonly of: OperationDetail }): JSX.Element {
  const followed = useOperation(detail.id);
  // The stream may be waiting for the service while the answer is newer.
  const isNewer = followed !== undefined && followed.progress.percent >= detail.progress.percent;
  return <Shown of={isNewer ? { ...detail, ...followed } : detail} />;
}

function Shown({ of: entry }: { readonly of: OperationDetail }): JSX.Element {
  const { id, kind, progress, created_at: asked } = entry;
  const stages = stagesOf(entry);
  const seconds = took(entry);
  const isEnded = isOver(entry);
  return (
    <>
      <Card
        title={kindName(kind)}
        aside={
          <>
            <StatusBadge of={entry} />
            {!isEnded && (
              <ActionButton
                operation="cancelOperation"
                input={{ params: { id } }}
                label={texts.cancel}
                title={texts.cancelTitle(kindName(kind))}
                steward={`steward operations cancel ${id}`}
                disabled={entry.cancellable === true ? undefined : texts.notCancellable}
              />
            )}
          </>
        }
      >
        {stages.length > 0 && <Stages of={stages} until={progress.until} />}
        {!isEnded && (
          <div class="pad progress" role="status">
            <Meter value={progress.percent} label={kindName(kind)} />
            <p>{progress.step || texts.statuses[entry.status]}</p>
          </div>
        )}
        <Facts
          of={{
            [texts.id]: <code>{id}</code>,
            [texts.asked]: <Time at={asked} />,
            [isEnded ? texts.took : texts.runsFor]: seconds === undefined ? undefined : duration(seconds),
          }}
        />
      </Card>
      <Result of={entry} />
      <Log lines={entry.log} />
      {isEnded && entry.result !== null && (
        <details>
          <summary>{texts.answer}</summary>
          <TextBox label={texts.answer}>{JSON.stringify(entry.result, null, 2)}</TextBox>
        </details>
      )}
    </>
  );
}

const logMs = 5000;

/** An operation with its stages, result and log, live until it ends: also after a restart of the service or a reboot of the host. */
export function OperationView({ id }: { readonly id: string }): JSX.Element {
  const isEnded = useSignal(false);
  const detail = useCall("getOperation", { params: { id } }, isEnded.value ? {} : { every: logMs });
  const { data } = detail;
  useEffect(() => {
    isEnded.value = data !== undefined && isOver(data);
  }, [data]);
  return (
    <Loaded of={detail} rows={6}>
      {(entry) => (isOver(entry) ? <Shown of={entry} /> : <Following of={entry} />)}
    </Loaded>
  );
}
