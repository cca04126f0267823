import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { type Buckets, totals } from "../list/buckets.ts";
import { tones } from "../list/entry.ts";
import { texts } from "../texts/logs.ts";
import { count, local } from "../ui/format.ts";
import { theme } from "../ui/theme.ts";
import { axes, clock, colour } from "./line.tsx";

const day = 86_400;
/** A shorter drag is a click. */
const leastDrag = 4;

/** The outlines of stacked bars, the highest first: each is drawn over the one before it. */
function stacked({ seconds, first, counts }: Buckets): uPlot.AlignedData {
  const length = counts[0]?.length ?? 0;
  const times = Array.from({ length }, (_, at) => (first + at) * seconds);
  const sums: number[][] = [];
  let below: readonly number[] = times.map(() => 0);
  for (const row of counts) {
    const sum = row.map((each, at) => each + (below[at] ?? 0));
    sums.push(sum);
    below = sum;
  }
  return [times, ...sums.toReversed()];
}

const label = (seconds: number, span: number): string => {
  const at = local(seconds * 1000);
  if (span <= 1.5 * day) return span < 300 ? at.slice(11) : clock(seconds);
  return span <= 5 * day ? at.slice(5, 16) : at.slice(5, 10);
};

/** What a bar counts, in words. */
function described({ seconds, first, counts }: Buckets, at: number): string {
  const from = (first + at) * seconds;
  const parts = tones.flatMap((tone, row) => {
    const here = counts[row]?.[at] ?? 0;
    return here === 0 ? [] : [`${count(here)} ${texts.tones[tone].toLowerCase()}`];
  });
  return `${local(from * 1000)}: ${parts.join(", ") || texts.noneHere}`;
}

/** Entries over time, stacked by severity; dragging over it chooses a part of the time. */
export function Histogram({
  of,
  onZoom,
}: {
  readonly of: Buckets;
  readonly onZoom: (since: number, until: number) => void;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const hint = useRef<HTMLSpanElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const shown = useRef(of);
  const zoom = useRef(onZoom);
  shown.current = of;
  zoom.current = onZoom;
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const size = () => ({ width: element.clientWidth, height: element.clientHeight });
    const bars = uPlot.paths.bars?.({ size: [0.86, 60], align: 1, gap: 0 });
    const span = (): number => (shown.current.counts[0]?.length ?? 1) * shown.current.seconds;
    const [x = {}, y = {}] = axes((value) => (Number.isInteger(value) ? count(value) : ""));
    const made = new uPlot(
      {
        ...size(),
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: leastDrag } },
        axes: [
          {
            ...x,
            space: span() > 1.5 * day && span() <= 5 * day ? 96 : 64,
            values: (_, times) => times.map((time) => label(time, span())),
          },
          { ...y, space: 24 },
        ],
        scales: {
          x: {
            range: () => [
              shown.current.first * shown.current.seconds,
              shown.current.first * shown.current.seconds + span(),
            ],
          },
          y: { range: (_, __, high) => [0, Math.max(1, high * 1.05)] },
        },
        series: [
          {},
          ...tones.toReversed().map((tone) => ({
            fill: colour(`bar-${tone}`),
            width: 0,
            points: { show: false },
            ...(bars && { paths: bars }),
          })),
        ],
        hooks: {
          setCursor: [
            (plot) => {
              const { left = -1 } = plot.cursor;
              const { seconds, first, counts } = shown.current;
              const at = left < 0 ? -1 : Math.floor(plot.posToVal(left, "x") / seconds) - first;
              if (hint.current === null) return;
              hint.current.textContent = at < 0 || at >= (counts[0]?.length ?? 0) ? "" : described(shown.current, at);
            },
          ],
          setSelect: [
            (plot) => {
              const { left, width } = plot.select;
              if (width < leastDrag) return;
              const [since, until] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
              plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              zoom.current(since * 1000, until * 1000);
            },
          ],
        },
      },
      stacked(shown.current),
      element,
    );
    chart.current = made;
    const resize = new ResizeObserver(() => made.setSize(size()));
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.destroy();
    };
  }, [theme.value]);
  useEffect(() => chart.current?.setData(stacked(of)), [of]);
  const sums = totals(of);
  const words = tones.map((tone, at) => `${texts.tones[tone]} ${count(sums[at])}`);
  return (
    <section class="card histogram" aria-label={texts.histogram}>
      <div class="histogram-chart" ref={box} role="img" aria-label={`${texts.histogram}: ${words.join(", ")}`} />
      <div class="legend">
        {tones.map((tone, at) => (
          <span key={tone} style={{ "--key": `var(--bar-${tone})` }}>
            {words[at]}
          </span>
        ))}
        <span class="histogram-hint" ref={hint} aria-hidden="true" />
      </div>
    </section>
  );
}
