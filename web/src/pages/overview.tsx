import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { HealthCheckResult } from "#contract/checks.ts";
import { running } from "../api/live.ts";
import { pace, useCall } from "../api/resource.ts";
import { Link, query, setQuery } from "../router.tsx";
import { texts } from "../texts/overview.ts";
import { ActionButton } from "../ui/action.tsx";
import { commandOf } from "../ui/commands.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icons.tsx";
import { lazily, Page } from "../ui/page.tsx";
import { Badge, Card, Lines, Loaded, Loading, Meter, NotShown, Problem, Time, type Tone } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { Recent } from "./changes.tsx";
import { SpanChoice } from "./span-choice.tsx";

const Charts = lazily(
  async () => (await import("./charts.tsx")).Charts,
  () => <div class="charts-wait" />,
);
const rank = { fail: 2, warn: 1, pass: 0, skip: 0 } as const;
const tones = { fail: "bad", warn: "warn", pass: "ok", skip: "idle" } as const satisfies Record<string, Tone>;
const seldom = { every: pace.seldom } as const;

const findingsOf = (results: readonly HealthCheckResult[]): readonly HealthCheckResult[] =>
  results
    .filter(({ status }) => rank[status] > 0)
    .toSorted((one, other) => rank[other.status] - rank[one.status] || one.name.localeCompare(other.name));

/** One sentence that says how the host is, and about what host. */
function Verdict(): JSX.Element {
  const checks = useCall("listChecks", {}, seldom);
  const info = useCall("getSystemInfo", {}, seldom);
  return (
    <Loaded of={checks} rows={2}>
      {({ summary, results }) => {
        const findings = findingsOf(results);
        const tone = summary.failed > 0 ? "bad" : summary.warned > 0 ? "warn" : "ok";
        const { os, cpu } = info.data ?? {};
        const about = [
          texts.passed(summary.passed, summary.total - summary.skipped),
          os && `${os.name} ${os.version}`,
          os && texts.kernel(os.kernel),
          cpu && texts.threads(cpu.threads),
        ];
        return (
          <section class={`card verdict ${tone}`} aria-label={texts.verdictLabel}>
            <Icon name={tone === "ok" ? "ok" : "warning"} />
            <div>
              <p class="sentence">
                {findings.length === 0 ? texts.allWell : texts.verdict(summary.failed, summary.warned, findings)}
              </p>
              <p class="quiet">{about.filter(Boolean).join(" · ")}</p>
            </div>
          </section>
        );
      }}
    </Loaded>
  );
}

function Findings(): JSX.Element | null {
  const { data } = useCall("listChecks", {}, seldom);
  const findings = findingsOf(data?.results ?? []);
  if (findings.length === 0) return null;
  return (
    <Card title={texts.findings} aside={<span class="quiet">{texts.findingCount(data?.summary)}</span>}>
      <Table
        label={texts.findings}
        rows={findings}
        keyOf={({ check_id }) => check_id}
        columns={[
          {
            id: "name",
            title: texts.check,
            cell: ({ check_id: id, name, status }) => (
              <span class="with-badge">
                <Badge tone={tones[status]}>{texts.statuses[status]}</Badge>
                <Link to="checks" query={{ check: id }}>
                  {name}
                </Link>
              </span>
            ),
          },
          { id: "message", title: texts.finding, narrow: "below", cell: ({ message }) => message },
          { id: "since", title: texts.since, narrow: "hide", cell: ({ since }) => <Time at={since} /> },
          {
            id: "fix",
            title: "",
            align: "end",
            cell: ({ check_id: id, name, fixable, fix_id: fix }) =>
              fixable && fix !== undefined ? (
                <ActionButton
                  operation="fixCheck"
                  input={{ params: { check_id: id }, body: { confirm: true } }}
                  label={texts.fix}
                  title={texts.fixTitle(name)}
                  resource={fix}
                  steward={`steward doctor ${id} --fix`}
                />
              ) : (
                <span class="quiet">{texts.noFix}</span>
              ),
          },
        ]}
      />
    </Card>
  );
}

function Running(): JSX.Element | null {
  if (running.value.length === 0) return null;
  return (
    <Card title={texts.running}>
      <ul class="lines">
        {running.value.map(({ id, kind, progress }) => (
          <li key={id}>
            <span class="grow">
              <Link to="operations" query={{ id }}>
                {kind}
              </Link>{" "}
              <span class="quiet">{progress.step}</span>
            </span>
            <Meter value={progress.percent} label={kind} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Due(): JSX.Element {
  const updates = useCall("checkUpdates", {}, { every: pace.rarely });
  const reboot = useCall("getReboot", {}, seldom);
  return (
    <Card title={texts.due} aside={<Link to="updates">{texts.toUpdates}</Link>}>
      <Loaded of={updates}>
        {({ packages, not_shown: missing }) => (
          <>
            <NotShown list={missing} />
            <ul class="lines">
              {missing === undefined && (
                <li>
                  <span class="grow">{texts.updates(packages.total, packages.security)}</span>
                  {packages.security > 0 && <Badge tone="warn">{texts.security}</Badge>}
                </li>
              )}
              {reboot.data?.scheduled_at != null && (
                <li>
                  <span class="grow">{texts.rebootAt}</span>
                  <Time at={reboot.data.scheduled_at} />
                </li>
              )}
            </ul>
          </>
        )}
      </Loaded>
    </Card>
  );
}

function FailedUnits(): JSX.Element {
  const failed = useCall("listServices", { query: { status: "failed" } }, seldom);
  return (
    <Card title={texts.failedUnits}>
      <Loaded of={failed}>
        {({ services, not_shown: missing }) => (
          <>
            <NotShown list={missing} />
            <Lines
              empty={missing === undefined ? texts.noFailedUnits : texts.unknown}
              of={services.map(({ name, since }) => ({
                key: name,
                text: (
                  <Link to="services" query={{ unit: name }}>
                    {name}
                  </Link>
                ),
                aside: <Time at={since} />,
              }))}
            />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function SignedIn(): JSX.Element {
  const logins = useCall("listLogins", { query: { limit: 5 } }, seldom);
  return (
    <Card title={texts.signedIn} aside={<Link to="users">{texts.toUsers}</Link>}>
      <Loaded of={logins}>
        {({ sessions }) => (
          <Lines
            empty={sessions === null ? texts.unknown : texts.nobody}
            of={(sessions ?? []).map(({ id, user, remote_host: from, since, service }) => ({
              key: id,
              text: texts.session(user, from, service),
              aside: <Time at={since} />,
            }))}
          />
        )}
      </Loaded>
    </Card>
  );
}

/** Leads to what waits for approval, anyone who may give it or has asked for it. */
function Waiting(): JSX.Element | null {
  const { data } = useCall("listApprovals", { query: { status: "pending", limit: 1 } }, seldom);
  if (data === undefined || data.total === 0) return null;
  return (
    <p class="hint warn">
      <Link to="approvals">{texts.waiting(data.total)}</Link>
    </p>
  );
}

/** What stands below the verdict, which it must not keep waiting. */
const Below = (): JSX.Element => (
  <>
    <Waiting />
    <Charts />
    <Findings />
    <Running />
    <div class="columns small">
      <Due />
      <FailedUnits />
      <SignedIn />
      <Recent />
    </div>
  </>
);

const Question = lazily(
  async () => {
    const { Diagnosis } = await import("./diagnosis.tsx");
    return () => <Diagnosis of={{}} />;
  },
  () => <Loading />,
);

/** Leads to a question about the host as a whole. */
const AskButton = (): JSX.Element => (
  <>
    <button type="button" onClick={() => setQuery({ ask: "host" })}>
      {texts.ask}
    </button>
    {query.value.has("ask") && (
      <Dialog title={texts.ask} onClose={() => setQuery({ ask: undefined })} drawer>
        <Question />
      </Dialog>
    )}
  </>
);

/** What an administrator sees first. */
export function OverviewPage(): JSX.Element {
  const { error } = useCall("getSystemInfo", {}, seldom);
  const checks = useCall("listChecks", {}, seldom);
  const isJudged = useSignal(false);
  useEffect(() => {
    if (checks.data !== undefined || checks.error !== undefined) isJudged.value = true;
  }, [checks.data, checks.error]);
  return (
    <Page
      title={texts.title}
      actions={
        <>
          <AskButton />
          <SpanChoice />
        </>
      }
      commands={[
        commandOf("listChecks", {}, "steward doctor"),
        commandOf("getHealth", {}, "steward status"),
        commandOf("getSystemMetrics", {}, "steward metrics"),
        commandOf("checkUpdates", {}, "steward updates check"),
      ]}
    >
      {error !== undefined && <Problem error={error} />}
      <Verdict />
      {isJudged.value && <Below />}
    </Page>
  );
}
