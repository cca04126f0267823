import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { HealthCheckResult } from "#contract/checks.ts";
import { type Answer, call } from "../api/call.ts";
import { refreshAll } from "../api/resource.ts";
import { texts } from "../texts/checks.ts";
import { ActionButton } from "../ui/action.tsx";
import { CommandsButton, commandOf } from "../ui/commands.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { count } from "../ui/format.ts";
import { Empty, Facts, Part, Problem, Time } from "../ui/parts.tsx";
import { Changes, CheckHistory, Details } from "./check-history.tsx";
import { DiagnosisPart } from "./diagnosis.tsx";
import { Runbooks } from "./runbooks.tsx";
import { CheckStatus } from "./states.tsx";

/** Repairs what a check has found; its plan comes first. */
export const FixButton = ({ of, primary = false }: { readonly of: HealthCheckResult; readonly primary?: boolean }) => (
  <ActionButton
    operation="fixCheck"
    // What is risky is confirmed below its plan.
    input={{ params: { check_id: of.check_id }, body: { confirm: true } }}
    label={texts.fix}
    title={texts.fixTitle(of.name)}
    resource={of.check_id}
    primary={primary}
    steward={`steward doctor --fix --check ${of.check_id}`}
  />
);

const hourMs = 3_600_000;
const spans = [1, 8, 24, 168, 720] as const;
// Within 30 days, whatever the clock of this browser says.
const untilOf = (hours: number): string =>
  new Date(Date.now() + hours * hourMs - 10 * 60_000 * Number(hours === 720)).toISOString();

function SilenceButton({ of: { check_id: check, name } }: { readonly of: HealthCheckResult }): JSX.Element {
  const hours = useSignal(8);
  const until = useSignal(untilOf(8));
  const comment = useSignal("");
  return (
    <ActionButton
      operation="silenceAlert"
      input={{ body: { check, until: until.value, comment: comment.value } }}
      label={texts.silence}
      title={texts.silenceTitle(name)}
      resource="silences"
      options={
        <div class="row">
          <label>
            {texts.silenceFor}
            <select
              value={hours.value}
              onChange={({ currentTarget }) => {
                hours.value = Number(currentTarget.value);
                until.value = untilOf(hours.value);
              }}
            >
              {spans.map((span) => (
                <option key={span} value={span}>
                  {texts.spans[span]}
                </option>
              ))}
            </select>
          </label>
          <label class="grow">
            {texts.comment}
            <input
              type="text"
              maxLength={500}
              value={comment.value}
              onChange={({ currentTarget }) => (comment.value = currentTarget.value)}
            />
          </label>
        </div>
      }
    />
  );
}

type Meanings = Readonly<Record<string, { readonly meaning: string; readonly remedy: string }>>;

/** What it means and what to do: texts that are loaded when somebody looks at a check. */
function useMeaning(id: string): Meanings[string] | undefined {
  const meanings = useSignal<Meanings>({});
  useEffect(() => {
    // Without them the rest of the page is of use all the same.
    void import("../api/check-meanings.generated.ts").then(
      ({ checkMeanings }) => (meanings.value = checkMeanings),
      () => undefined,
    );
  }, []);
  return meanings.value[id];
}

const isBad = ({ status }: HealthCheckResult): boolean => status === "fail" || status === "warn";

function Actions(props: {
  readonly of: HealthCheckResult;
  readonly silence: Silence | undefined;
  readonly onRun: (result: HealthCheckResult) => void;
}): JSX.Element {
  const { of, silence, onRun } = props;
  const isRunning = useSignal(false);
  const error = useSignal<Error | undefined>(undefined);
  const run = async (): Promise<void> => {
    isRunning.value = true;
    error.value = undefined;
    try {
      onRun(await call("getCheck", { params: { check_id: of.check_id } }));
      refreshAll();
    } catch (thrown) {
      error.value = thrown as Error;
    } finally {
      isRunning.value = false;
    }
  };
  return (
    <>
      <div class="buttons">
        {isBad(of) && of.fixable && <FixButton of={of} primary />}
        <button type="button" aria-disabled={isRunning.value} onClick={() => void (isRunning.value || run())}>
          {isRunning.value ? texts.running : texts.runNow}
        </button>
        {silence === undefined ? (
          <SilenceButton of={of} />
        ) : (
          <ActionButton
            operation="removeSilence"
            input={{ params: { id: silence.id } }}
            label={texts.unsilence}
            title={texts.unsilence}
            resource="silences"
          />
        )}
        <CommandsButton
          of={[
            commandOf("getCheck", { params: { check_id: of.check_id } }, `steward doctor --check ${of.check_id}`),
            commandOf("getCheckMetrics", { query: { check: of.check_id } }, `steward health metrics ${of.check_id}`),
          ]}
        />
      </div>
      {isBad(of) && !of.fixable && <p class="quiet">{texts.noFix}</p>}
      {silence !== undefined && (
        <p class="hint">
          {texts.silencedUntil(silence.created_by)} <Time at={silence.until} />
          {silence.comment !== "" && `: ${silence.comment}`}
        </p>
      )}
      {error.value !== undefined && <Problem error={error.value} onRetry={() => void run()} />}
    </>
  );
}

type Silence = Answer<"listSilences">["silences"][number];

function Check(props: { readonly of: HealthCheckResult; readonly silence: Silence | undefined }): JSX.Element {
  /** Of the run that was asked for here: it has all entries, which the list of all checks cuts. */
  const own = useSignal<HealthCheckResult | undefined>(undefined);
  const listed = props.of;
  const of = own.value !== undefined && own.value.checked_at >= listed.checked_at ? own.value : listed;
  const { check_id: id, attempt, max_attempts: most } = of;
  const { meaning, remedy } = useMeaning(id) ?? {};
  return (
    <>
      <p class="unit-head">
        <CheckStatus of={of.status} /> {of.message}
      </p>
      <Actions of={of} silence={props.silence} onRun={(result) => (own.value = result)} />
      <Facts
        of={{
          [texts.meaning]: meaning,
          [texts.remedy]: remedy,
          [texts.state]: (
            <>
              {texts.since} <Time at={of.since} />
              {of.state_type === "soft" &&
                attempt !== undefined &&
                most !== undefined &&
                `, ${texts.soft(attempt, most)}`}
            </>
          ),
          [texts.checkedAt]: (
            <>
              <Time at={of.checked_at} />
              <span class="quiet">{`, ${texts.took(of.duration_ms)}`}</span>
            </>
          ),
          [texts.failures]: of.consecutive_failures === 0 ? undefined : count(of.consecutive_failures),
          [texts.severity]: of.severity,
          [texts.category]: of.category,
        }}
      />
      <div class="parts">
        <Runbooks of={{ check: id }} open={isBad(of)} />
        <DiagnosisPart of={{ check: id }} />
      </div>
      {of.status !== "skip" && <CheckHistory of={of} />}
      <div class="parts">
        {Object.keys(of.details).length > 0 && (
          <Part title={texts.details} open>
            {() => (
              <>
                {of.details_cut !== undefined && <p class="quiet">{texts.cut(of.details_cut.join(", "))}</p>}
                <Details of={of.details as Readonly<Record<string, unknown>>} />
              </>
            )}
          </Part>
        )}
        <Part title={texts.changes}>{() => <Changes id={id} />}</Part>
      </div>
    </>
  );
}

/** One check, at the side of the list. */
export const CheckDrawer = (props: {
  readonly id: string;
  readonly of: HealthCheckResult | undefined;
  readonly silence: Silence | undefined;
  readonly onClose: () => void;
}): JSX.Element => (
  <Dialog title={props.of?.name ?? props.id} onClose={props.onClose} drawer>
    {props.of === undefined ? (
      <Empty icon="search">{texts.notFound(props.id)}</Empty>
    ) : (
      <Check of={props.of} silence={props.silence} />
    )}
  </Dialog>
);
