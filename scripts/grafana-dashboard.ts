import type { Dashboard, FieldConfig, GridPos, Panel, RowPanel, Threshold } from "@grafana/schema";
import {
  BigValueColorMode,
  BigValueGraphMode,
  BigValueJustifyMode,
  BigValueTextMode,
  DashboardCursorSync,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  MappingType,
  PercentChangeColorMode,
  SortOrder,
  ThresholdsMode,
  TooltipDisplayMode,
  VariableRefresh,
  VariableSort,
  VizOrientation,
} from "@grafana/schema";
import type { Options as StatOptions } from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type {
  FieldConfig as GraphFieldConfig,
  Options as TimeSeriesOptions,
} from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";
import { checkStatuses } from "#contract/checks.ts";
import { type AlertMetric, alertConditions } from "#domain/alerts/conditions.ts";
import { alertQueries } from "./prometheus-rules.ts";

/** One query of a panel with the name of its lines. */
type Line = readonly [expression: string, legend: string];

interface Chart {
  readonly title: string;
  readonly description?: string;
  readonly unit: string;
  readonly lines: readonly Line[];
  /** A line above which there is an alert. */
  readonly limit?: number;
  readonly max?: number;
}

interface Figure {
  readonly title: string;
  readonly description?: string;
  readonly line: Line;
  readonly steps: readonly Threshold[];
  /** Words for values. */
  readonly words?: readonly string[];
}

const columns = 24;
const datasource = { type: "prometheus", uid: "$datasource" };
const steward = 'job="steward",instance=~"$instance"';
const green = { color: "green", value: null };
const isZeroGood: readonly Threshold[] = [green, { color: "red", value: 1 }];
const isOneGood: readonly Threshold[] = [
  { color: "red", value: null },
  { color: "green", value: 1 },
];

const rateOf = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}{${steward}}[$__rate_interval]))`;
const quantileOf = (quantile: number, metric: string, by = ""): string =>
  `histogram_quantile(${quantile}, sum by (le${by}) (rate(${metric}_bucket{${steward}}[$__rate_interval])))`;

const figures: readonly Figure[] = [
  { title: "Steward", line: [`up{${steward}}`, ""], steps: isOneGood, words: ["down", "up"] },
  {
    title: "Alerts that fire",
    line: ['count(ALERTS{alertstate="firing",instance=~"$instance"}) or vector(0)', ""],
    steps: isZeroGood,
  },
  {
    title: "Components",
    description: "As they were at their last probe.",
    line: [`svc_component_up{${steward}}`, "{{component}}"],
    steps: isOneGood,
    words: ["down", "up"],
  },
  {
    title: "Checks that warn or fail",
    description: "Last results of the health checks other than pass and skip.",
    line: [`svc_check_status{${steward}} > 0 < 3`, "{{check}}"],
    steps: [green, { color: "orange", value: 1 }, { color: "red", value: 2 }],
    words: checkStatuses,
  },
];

const serviceCharts: readonly Chart[] = [
  { title: "Requests", unit: "reqps", lines: [[rateOf("svc_requests_total", "status"), "{{status}}"]] },
  {
    title: "Time to answer",
    unit: "s",
    lines: [
      [quantileOf(0.5, "svc_request_duration_seconds"), "half of them"],
      [quantileOf(0.95, "svc_request_duration_seconds"), "95 %"],
    ],
  },
  {
    title: "Connections",
    unit: "short",
    lines: [
      [`svc_active_connections{${steward}}`, "open"],
      [`svc_ws_clients{${steward}}`, "{{stream}}"],
    ],
  },
  {
    title: "Time of health checks",
    description: "95 % of the runs took less.",
    unit: "s",
    lines: [[quantileOf(0.95, "svc_check_duration_seconds", ", check"), "{{check}}"]],
  },
  {
    title: "Language models",
    unit: "short",
    lines: [
      [rateOf("svc_llm_requests_total", "connector, result"), "{{connector}} {{result}}"],
      [rateOf("svc_llm_tokens_total", "connector, direction"), "{{connector}} tokens {{direction}}"],
    ],
  },
  {
    title: "Spans, frames that clients lost, faults of the journal",
    unit: "short",
    lines: [
      [rateOf("svc_trace_spans_total", "result"), "spans {{result}}"],
      [rateOf("svc_ws_dropped_total", "stream"), "frames of {{stream}}"],
      [`rate(svc_journal_faults_total{${steward}}[$__rate_interval])`, "faults of the journal"],
    ],
  },
  { title: "Memory of the service", unit: "bytes", lines: [[`process_resident_memory_bytes{${steward}}`, "resident"]] },
  {
    title: "Processor time of the service",
    unit: "percentunit",
    lines: [[`rate(process_cpu_seconds_total{${steward}}[$__rate_interval])`, "of one processor"]],
  },
];

const metricTitles: readonly (readonly [AlertMetric, string])[] = [
  ["cpu_percent", "Processors"],
  ["memory_percent", "Memory"],
  ["root_filesystem_percent", "Root file system"],
];

/** What the alerts look at, with the same queries and thresholds. */
const hostCharts: readonly Chart[] = metricTitles.map(([metric, title]) => {
  const condition = alertConditions.find((each) => each.metric === metric);
  if (condition === undefined) throw new Error(`cannot make the dashboard: no alert looks at ${metric}`);
  const expression = alertQueries[metric].expression.join("\n");
  return {
    title,
    description: `${condition.name}: ${condition.expression}.`,
    unit: "percent",
    lines: [[expression.replaceAll('job="node"', 'job="node",instance=~"$instance"'), "{{instance}}"]],
    limit: condition.threshold,
    max: 100,
  };
});

const targets = (lines: readonly Line[]): Record<string, unknown>[] =>
  lines.map(([expr, legendFormat], index) => ({
    refId: String.fromCharCode("A".charCodeAt(0) + index),
    datasource,
    expr,
    legendFormat,
  }));

function chartPanel({ title, description, unit, lines, limit, max }: Chart): Panel {
  const custom: GraphFieldConfig = {
    lineWidth: 1,
    fillOpacity: 10,
    ...(limit !== undefined && { thresholdsStyle: { mode: GraphThresholdsStyleMode.Dashed } }),
  };
  const options: TimeSeriesOptions = {
    legend: { displayMode: LegendDisplayMode.List, placement: "bottom", showLegend: true, calcs: [] },
    tooltip: { mode: TooltipDisplayMode.Multi, sort: SortOrder.Descending },
  };
  const defaults: FieldConfig = {
    unit,
    min: 0,
    ...(max !== undefined && { max }),
    custom: { ...custom },
    thresholds: {
      mode: ThresholdsMode.Absolute,
      steps: limit === undefined ? [green] : [green, { color: "red", value: limit }],
    },
  };
  return {
    type: "timeseries",
    title,
    ...(description !== undefined && { description }),
    datasource,
    targets: targets(lines),
    fieldConfig: { defaults, overrides: [] },
    options: { ...options },
  };
}

function figurePanel({ title, description, line, steps, words = [] }: Figure): Panel {
  const options: StatOptions = {
    reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
    orientation: VizOrientation.Auto,
    colorMode: BigValueColorMode.Background,
    graphMode: BigValueGraphMode.None,
    justifyMode: BigValueJustifyMode.Auto,
    textMode: BigValueTextMode.Auto,
    wideLayout: true,
    showPercentChange: false,
    percentChangeColorMode: PercentChangeColorMode.Standard,
  };
  const worded = Object.fromEntries(words.map((text, value) => [String(value), { text, index: value }]));
  const defaults: FieldConfig = {
    thresholds: { mode: ThresholdsMode.Absolute, steps: [...steps] },
    ...(words.length > 0 && { mappings: [{ type: MappingType.ValueToText, options: worded }] }),
  };
  return {
    type: "stat",
    title,
    ...(description !== undefined && { description }),
    datasource,
    targets: targets([line]),
    fieldConfig: { defaults, overrides: [] },
    options: { ...options },
  };
}

interface Section {
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly width: number;
  readonly height: number;
}

const rowPanel = (title: string, gridPos: GridPos, id: number): RowPanel => ({
  type: "row",
  id,
  title,
  gridPos,
  collapsed: false,
  panels: [],
});

/** One section below the other, each with a row as its heading, its panels side by side. */
function arrange(sections: readonly Section[]): (Panel | RowPanel)[] {
  const placed: (Panel | RowPanel)[] = [];
  let y = 0;
  for (const { title, panels, width, height } of sections) {
    placed.push(rowPanel(title, { h: 1, w: columns, x: 0, y }, placed.length + 1));
    y += 1;
    const inLine = columns / width;
    for (const [index, panel] of panels.entries()) {
      const gridPos = { h: height, w: width, x: (index % inLine) * width, y: y + Math.floor(index / inLine) * height };
      placed.push({ ...panel, id: placed.length + 1, gridPos });
    }
    y += Math.ceil(panels.length / inLine) * height;
  }
  return placed;
}

/** The dashboard for Grafana, with its data source and hosts to choose from. */
export function grafanaDashboard(): string {
  const dashboard: Dashboard = {
    uid: "steward",
    title: "Steward",
    description: "The service and its host. Made by npm run generate.",
    tags: ["steward"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: DashboardCursorSync.Crosshair,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    timezone: "browser",
    templating: {
      list: [
        {
          name: "datasource",
          label: "Data source",
          type: "datasource",
          query: "prometheus",
          refresh: VariableRefresh.onDashboardLoad,
        },
        {
          name: "instance",
          label: "Host",
          type: "query",
          datasource,
          query: 'label_values(up{job="steward"}, instance)',
          refresh: VariableRefresh.onTimeRangeChanged,
          sort: VariableSort.alphabeticalAsc,
          includeAll: true,
          multi: true,
        },
      ],
    },
    panels: arrange([
      { title: "Now", panels: figures.map(figurePanel), width: 6, height: 5 },
      { title: "Host", panels: hostCharts.map(chartPanel), width: 8, height: 8 },
      { title: "Service", panels: serviceCharts.map(chartPanel), width: 12, height: 8 },
    ]),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
