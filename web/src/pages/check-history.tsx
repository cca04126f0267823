import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { HealthCheckDay, HealthCheckHistory, HealthCheckResult, HealthCheckRun } from "#contract/checks.ts";
import type { Answer } from "../api/call.ts";
import { pace, useCall } from "../api/resource.ts";
import { type Line, LineChart } from "../charts/line.tsx";
import { texts } from "../texts/checks.ts";
import { bytes, local, percent } from "../ui/format.ts";
import { Loaded, Time } from "../ui/parts.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { CheckStatus, statusTone } from "./states.tsx";

/** From the top of a bar to its bottom. */
const shares = ["fail", "warn", "pass", "skip", "unknown"] as const;
type Share = (typeof shares)[number];
const toneOf = (share: Share): string => (share === "unknown" ? "" : statusTone[share]);

const words = (times: Readonly<Record<Share, number>>): string => {
  const whole = shares.reduce((sum, each) => sum + times[each], 0);
  return shares
    .filter((each) => times[each] > 0)
    .map((each) => texts.shareOf(percent((100 * times[each]) / whole), texts.shares[each]))
    .join(", ");
};

const Day = ({ of: { day, time_ms: times } }: { readonly of: HealthCheckDay }): JSX.Element => (
  <span class="bar" title={texts.dayOf(day, words(times))}>
    {shares.map(
      (each) => times[each] > 0 && <span key={each} class={toneOf(each)} style={{ flexGrow: String(times[each]) }} />,
    )}
  </span>
);

/** A day in a year is a fourth of a percent: it must not be rounded away. */
const shareInWords = (share: number): string => (share === 100 ? percent(share) : `${share.toFixed(2)} %`);

type Uptime = NonNullable<HealthCheckHistory["uptime"]>[number];
const uptimeColumns: readonly Column<Uptime>[] = [
  { id: "days", title: texts.window, cell: ({ days }) => texts.windowOf(days) },
  ...(["pass", "warn", "fail", "skip", "unknown"] as const).map(
    (each): Column<Uptime> => ({
      id: each,
      title: texts.shares[each],
      align: "end",
      cell: ({ percent: share }) => (share[each] === 0 ? "" : shareInWords(share[each])),
    }),
  ),
];

/** How it was on each of the last 30 days. */
function Days({ id }: { readonly id: string }): JSX.Element {
  const answer = useCall("getCheckHistory", { params: { check_id: id }, query: { resolution: "daily" } });
  return (
    <section>
      <h3>{texts.history}</h3>
      <Loaded of={answer} rows={2}>
        {({ days = [], uptime = [] }) => (
          <>
            <div class="strip" role="img" aria-label={`${texts.history}: ${words(uptime.at(-1)?.time_ms ?? empty)}`}>
              {days.map((day) => (
                <Day key={day.day} of={day} />
              ))}
            </div>
            <Table
              label={texts.history}
              columns={uptimeColumns.filter(
                ({ id }) => id === "days" || uptime.some(({ percent: share }) => share[id as Share] > 0),
              )}
              rows={uptime}
              keyOf={({ days: window }) => String(window)}
            />
          </>
        )}
      </Loaded>
    </section>
  );
}
const empty = { pass: 0, warn: 0, fail: 0, skip: 0, unknown: 0 };

/** Each run of the last hour. */
function Hour({ id }: { readonly id: string }): JSX.Element {
  const answer = useCall(
    "getCheckHistory",
    { params: { check_id: id }, query: { resolution: "runs" } },
    { every: pace.seldom },
  );
  return (
    <section>
      <h3>{texts.hour}</h3>
      <Loaded of={answer} rows={1}>
        {({ runs }) =>
          runs.length === 0 ? (
            <p class="quiet">{texts.noRuns}</p>
          ) : (
            <div class="strip runs" role="img" aria-label={`${texts.hour}: ${runsInWords(runs)}`}>
              {runs.slice(-120).map((run) => (
                <span
                  key={run.checked_at}
                  class={`bar ${statusTone[run.status]}`}
                  title={texts.runOf(local(run.checked_at), texts.status[run.status], run.duration_ms)}
                >
                  <span class={statusTone[run.status]} />
                </span>
              ))}
            </div>
          )
        }
      </Loaded>
    </section>
  );
}

const runsInWords = (runs: readonly HealthCheckRun[]): string =>
  [...Map.groupBy(runs, ({ status }) => status)]
    .map(([status, of]) => texts.shareOf(String(of.length), texts.shares[status]))
    .join(", ");

const changeColumns: readonly Column<HealthCheckRun>[] = [
  { id: "at", title: texts.at, cell: (run) => <Time at={run.checked_at} /> },
  { id: "status", title: texts.state, cell: (run) => <CheckStatus of={run.status} /> },
  { id: "message", title: texts.message, cell: (run) => run.message },
];

/** When its status changed, and to what. */
export function Changes({ id }: { readonly id: string }): JSX.Element {
  const answer = useCall("getCheckHistory", {
    params: { check_id: id },
    query: {
      resolution: "transitions",
      since: new Date(Math.floor(Date.now() / hourMs - 30 * 24) * hourMs).toISOString(),
    },
  });
  return (
    <Loaded of={answer} rows={2}>
      {({ runs }) => (
        <Table
          label={texts.changes}
          columns={changeColumns}
          rows={runs.toReversed()}
          keyOf={(run) => run.checked_at}
          empty={texts.noChanges}
        />
      )}
    </Loaded>
  );
}
const hourMs = 3_600_000;

type Series = Answer<"getCheckMetrics">["series"][number];

function formatOf({ name, unit }: Series): (value: number) => string {
  if (name.includes("percent") || unit === "%") return percent;
  if (name.endsWith("_bytes") || unit === "B") return bytes;
  if (name.endsWith("_gb")) return (value) => bytes(value * 1e9);
  const digits = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
  return (value) => `${digits.format(value)}${unit}`;
}

type Thresholds = HealthCheckResult["thresholds"];

/** A figure with what it is compared with. */
function linesOf({ name, points }: Series, thresholds: Thresholds, format: (value: number) => string): readonly Line[] {
  const { warn, fail } = thresholds?.[name] ?? {};
  const across = (value: number | undefined, words: (value: string) => string, tone: "warn" | "error") =>
    value === undefined ? [] : [{ name: words(format(value)), values: points.map(() => value), tone }];
  return [
    { name: title(name), values: points.map(({ value }) => value) },
    ...across(warn, texts.warnsAt, "warn"),
    ...across(fail, texts.failsAt, "error"),
  ];
}

const firstFigures = 4;

/** What it measured, over the last day. */
function Figures({ of: { check_id: id, thresholds } }: { readonly of: HealthCheckResult }): JSX.Element {
  const isAll = useSignal(false);
  const answer = useCall("getCheckMetrics", { query: { check: id } }, { every: pace.seldom });
  return (
    <Loaded of={answer} rows={2}>
      {({ series }) => {
        // One time is not a line, and a threshold is not a figure.
        const drawn = series.filter(({ name, points }) => points.length > 1 && !name.startsWith("warn_"));
        const shown = isAll.value ? drawn : drawn.slice(0, firstFigures);
        if (drawn.length === 0) return null;
        return (
          <section>
            <h3>{texts.figures}</h3>
            <div class="charts">
              {shown.map((of) => {
                const format = formatOf(of);
                return (
                  <LineChart
                    key={of.name}
                    title={title(of.name)}
                    now={format(of.points.at(-1)?.value ?? 0)}
                    times={of.points.map(({ at }) => Date.parse(at) / 1000)}
                    lines={linesOf(of, thresholds, format)}
                    format={format}
                    top={of.name.includes("percent") ? 100 : 0}
                  />
                );
              })}
            </div>
            {drawn.length > shown.length && (
              <button type="button" onClick={() => (isAll.value = true)}>
                {texts.moreFigures(drawn.length - shown.length)}
              </button>
            )}
          </section>
        );
      }}
    </Loaded>
  );
}

/** How a check has been. */
export const CheckHistory = ({ of }: { readonly of: HealthCheckResult }): JSX.Element => (
  <>
    <Hour id={of.check_id} />
    <Days id={of.check_id} />
    <Figures of={of} />
  </>
);

type Value = unknown;
const isRecord = (value: Value): value is Readonly<Record<string, Value>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function wordsOf(value: Value): string {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? texts.yes : texts.no;
  if (typeof value === "number" || typeof value === "string") return String(value);
  return JSON.stringify(value);
}

const title = (name: string): string => name.replaceAll("_", " ");

/** The figures of a result, whichever they are: a check, and a plugin more so, has members of its own. */
export function Details({ of }: { readonly of: Readonly<Record<string, Value>> }): JSX.Element {
  const entries = Object.entries(of).filter(([, value]) => !(Array.isArray(value) && value.length === 0));
  const tables = entries.flatMap(([name, value]) =>
    Array.isArray(value) && value.every(isRecord)
      ? [[name, value as readonly Readonly<Record<string, Value>>[]] as const]
      : [],
  );
  const rest = entries.filter(([name]) => !tables.some(([each]) => each === name));
  return (
    <>
      <dl class="facts">
        {rest.map(([name, value]) => (
          <div key={name}>
            <dt>{title(name)}</dt>
            <dd>{Array.isArray(value) ? value.map((each) => wordsOf(each)).join(", ") : wordsOf(value)}</dd>
          </div>
        ))}
      </dl>
      {tables.map(([name, rows]) => (
        <section key={name}>
          <h3>{title(name)}</h3>
          <Table
            label={title(name)}
            columns={[...new Set(rows.flatMap((row) => Object.keys(row)))].map((key) => ({
              id: key,
              title: title(key),
              cell: (row: Readonly<Record<string, Value>>) => wordsOf(row[key]),
              ...(rows.every((row) => typeof row[key] === "number") && { align: "end" as const }),
            }))}
            rows={rows}
            keyOf={(row) => JSON.stringify(row)}
          />
        </section>
      ))}
    </>
  );
}
