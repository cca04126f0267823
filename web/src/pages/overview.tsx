import type { JSX } from "preact";
import type { HealthCheckResult } from "#contract/checks.ts";
import { useCall } from "../api/resource.ts";
import { texts } from "../texts/overview.ts";
import { commandOf } from "../ui/commands.tsx";
import { Icon } from "../ui/icons.tsx";
import { Page } from "../ui/page.tsx";
import { Loaded, Time } from "../ui/parts.tsx";

const rank = { fail: 2, warn: 1, pass: 0, skip: 0 } as const;

const findingsOf = (results: readonly HealthCheckResult[]): readonly HealthCheckResult[] =>
  results.filter(({ status }) => rank[status] > 0).toSorted((one, other) => rank[other.status] - rank[one.status]);

function Verdict(): JSX.Element {
  const checks = useCall("listChecks", {}, { every: 30_000 });
  const info = useCall("getSystemInfo", {}, { every: 60_000 });
  const reboot = useCall("getReboot");
  return (
    <Loaded of={checks} rows={2}>
      {({ summary, results }) => {
        const findings = findingsOf(results);
        const tone = summary.failed > 0 ? "bad" : summary.warned > 0 ? "warn" : "ok";
        const about = info.data;
        return (
          <section class={`card verdict ${tone}`}>
            <Icon name={tone === "ok" ? "ok" : "warning"} />
            <div>
              <h2 class="sentence">
                {findings.length === 0
                  ? texts.allWell
                  : texts.verdict(
                      summary.failed,
                      summary.warned,
                      findings.slice(0, 3).map(({ name }) => name),
                    )}
              </h2>
              <p class="quiet">
                {[
                  texts.passed(summary.passed, summary.total - summary.skipped),
                  ...(about === undefined
                    ? []
                    : [
                        `${about.os.name} ${about.os.version}`,
                        texts.kernel(about.os.kernel),
                        texts.threads(about.cpu.threads),
                      ]),
                ].join(" · ")}
              </p>
              {reboot.data?.scheduled_at != null && (
                <p class="quiet">
                  {texts.rebootAt} <Time at={reboot.data.scheduled_at} />
                </p>
              )}
            </div>
          </section>
        );
      }}
    </Loaded>
  );
}
export const OverviewPage = (): JSX.Element => (
  <Page
    title={texts.title}
    commands={[commandOf("listChecks", {}, "steward doctor"), commandOf("getHealth", {}, "steward status")]}
  >
    <Verdict />
  </Page>
);
