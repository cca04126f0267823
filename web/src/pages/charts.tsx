import type { JSX } from "preact";
import type { Answer } from "../api/call.ts";
import { pace, useCall } from "../api/resource.ts";
import { LineChart } from "../charts/line.tsx";
import { query } from "../router.tsx";
import { chartTexts as texts } from "../texts/overview.ts";
import { bytes, percent } from "../ui/format.ts";
import { NotShown, Problem } from "../ui/parts.tsx";

type Metrics = Answer<"getSystemMetrics">;
type Name = Metrics["series"][number]["name"];

const names = [
  "load_1m",
  "load_15m",
  "memory_used_bytes",
  "memory_total_bytes",
  "swap_used_bytes",
  "disk_read_bytes_per_second",
  "disk_write_bytes_per_second",
  "network_receive_bytes_per_second",
  "network_transmit_bytes_per_second",
] as const satisfies readonly Name[];

const points = 180;
const dayMs = 86_400_000;
/** So long a question of a day stays the same, so that its last answer is shown meanwhile. */
const stepMs = 300_000;

const last = (values: readonly (number | null)[]): number | undefined =>
  values.findLast((value) => value !== null) ?? undefined;
const axisBytes = (value: number): string => bytes(value).replace(".0 ", " ");
const rate = (value: number | undefined): string => (value === undefined ? "–" : `${bytes(value)}/s`);
const fixed = (value: number | undefined): string => (value === undefined ? "–" : value.toFixed(2));

function Lines({ of: { since, step_seconds: step, series } }: { readonly of: Metrics }): JSX.Element {
  const valuesOf = (name: Name): readonly (number | null)[] => series.find((each) => each.name === name)?.values ?? [];
  const start = Date.parse(since) / 1000;
  const times = (series[0]?.values ?? []).map((_, at) => start + (at + 1) * step);
  const total = last(valuesOf("memory_total_bytes")) ?? 0;
  const used = last(valuesOf("memory_used_bytes"));
  const two = (one: Name, other: Name) => [last(valuesOf(one)), last(valuesOf(other))] as const;
  const [read, written] = two("disk_read_bytes_per_second", "disk_write_bytes_per_second");
  const [received, sent] = two("network_receive_bytes_per_second", "network_transmit_bytes_per_second");
  const shared = { times };
  return (
    <div class="charts">
      <LineChart
        {...shared}
        title={texts.load}
        now={fixed(last(valuesOf("load_1m")))}
        lines={[
          { name: texts.minute, values: valuesOf("load_1m") },
          { name: texts.quarter, values: valuesOf("load_15m") },
        ]}
        format={(value) => String(value)}
      />
      <LineChart
        {...shared}
        title={texts.memory}
        now={used === undefined || total === 0 ? "–" : percent((100 * used) / total)}
        lines={[
          { name: texts.used, values: valuesOf("memory_used_bytes") },
          { name: texts.swap, values: valuesOf("swap_used_bytes") },
        ]}
        top={total}
        format={axisBytes}
        binary
      />
      <LineChart
        {...shared}
        title={texts.disk}
        now={texts.both(rate(read), rate(written))}
        lines={[
          { name: texts.read, values: valuesOf("disk_read_bytes_per_second") },
          { name: texts.written, values: valuesOf("disk_write_bytes_per_second") },
        ]}
        top={1024 * 1024}
        format={axisBytes}
        binary
      />
      <LineChart
        {...shared}
        title={texts.network}
        now={texts.both(rate(received), rate(sent))}
        lines={[
          { name: texts.received, values: valuesOf("network_receive_bytes_per_second") },
          { name: texts.sent, values: valuesOf("network_transmit_bytes_per_second") },
        ]}
        top={1024 * 1024}
        format={axisBytes}
        binary
      />
    </div>
  );
}

/** Load, memory, disks and network of the last hour or day. */
export function Charts(): JSX.Element {
  const isDay = query.value.get("span") === "day";
  const since = new Date(Math.floor((Date.now() - dayMs) / stepMs + 1) * stepMs).toISOString();
  const { data, error, refresh } = useCall(
    "getSystemMetrics",
    { query: { names: names.join(","), points, ...(isDay && { since }) } },
    { every: isDay ? pace.rarely : pace.usual },
  );
  return (
    <section class="page" aria-label={texts.title}>
      {error !== undefined && <Problem error={error} onRetry={refresh} />}
      {data !== undefined && (
        <>
          <NotShown list={data.not_shown} />
          <Lines key={String(isDay)} of={data} />
        </>
      )}
    </section>
  );
}
