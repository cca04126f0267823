import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../ui/theme.ts";

export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** A threshold, in this colour. */
  readonly tone?: "warn" | "error";
}

export interface LineChartProps {
  readonly title: string;
  /** The latest value, in words. */
  readonly now: string;
  /** Seconds since the epoch. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** The least top of the scale. */
  readonly top?: number;
  /** Bytes: the axis counts in powers of two. */
  readonly binary?: boolean;
}

const height = 110;
const two = (value: number): string => String(value).padStart(2, "0");
export const clock = (seconds: number): string => {
  const at = new Date(seconds * 1000);
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
};

export const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const powers = Array.from({ length: 50 }, (_, at) => 2 ** at);

/** Axes in the colours of the theme. */
export const axes = (format: (value: number) => string, isBinary = false): uPlot.Axis[] => {
  const look = {
    stroke: colour("quiet"),
    grid: { stroke: colour("grid"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui",
  };
  return [
    { ...look, space: 70, size: 22, values: (_, times) => times.map(clock) },
    {
      ...look,
      space: 32,
      size: isBinary ? 56 : 44,
      values: (_, values) => values.map(format),
      ...(isBinary && { incrs: powers }),
    },
  ];
};

const colourOf = ({ tone }: Line, at: number): string => (tone === undefined ? `chart-${at + 1}` : `bar-${tone}`);

/** One or two lines over time and their thresholds, with what is known now beside the title. A gap in the values is a gap in the line. */
export function LineChart(props: LineChartProps): JSX.Element {
  const { title, now, times, lines, format, top = 1, binary = false } = props;
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const data = [times, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData;
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const series = lines.map((line, at) => ({
      stroke: colour(colourOf(line, at)),
      width: line.tone === undefined ? 1.5 : 1,
      points: { show: false },
      // What is near to fail is above what warns.
      auto: line.tone !== "error",
      ...(at === 0 && { fill: colour("chart-fill") }),
    }));
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { show: false },
        padding: [8, 18, 0, 0],
        axes: axes(format, binary),
        scales: { y: { range: (_, low, high) => [Math.min(0, low * 1.08), Math.max(top, high * 1.08)] } },
        series: [{}, ...series],
      },
      data,
      element,
    );
    chart.current = made;
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.destroy();
    };
  }, [theme.value, lines.length]);
  useEffect(() => chart.current?.setData(data), [data]);
  return (
    <section class="card">
      <div class="chart-head">
        <h2>{title}</h2>
        <strong>{now}</strong>
      </div>
      <div class="chart">
        <div ref={box} role="img" aria-label={`${title}: ${now}`} />
        <div class="legend">
          {lines.map((line, at) => (
            <span key={line.name} style={{ "--key": `var(--${colourOf(line, at)})` }}>
              {line.name}
            </span>
          ))}
        </div>
      </div>
    </section>
  );
}
