import type { Row } from "../row.ts";
import { cli } from "./cli.ts";
import { consoleView } from "./console.ts";
import { consoleCockpit } from "./console-cockpit.ts";
import { consoleJobs } from "./console-jobs.ts";
import { consoleLogs } from "./console-logs.ts";
import { health } from "./health.ts";
import { healthSession } from "./health-session.ts";
import { healthTraced } from "./health-traced.ts";
import { healthUnderGrep } from "./health-under-grep.ts";
import { idle, idleLogged } from "./idle.ts";
import { info } from "./info.ts";
import { logsAccuracy } from "./logs-accuracy.ts";
import { logsAttack } from "./logs-attack.ts";
import { logsClients } from "./logs-clients.ts";
import { logsCompressed } from "./logs-compressed.ts";
import { logsExplored, logsExploredTenMillion } from "./logs-explored.ts";
import { logsExport } from "./logs-export.ts";
import { logsFanout } from "./logs-fanout.ts";
import { logsFiles } from "./logs-files.ts";
import { logsFilter, logsGrep } from "./logs-filter.ts";
import { logsGrowth } from "./logs-growth.ts";
import { logsIdle } from "./logs-idle.ts";
import { logsLatency } from "./logs-latency.ts";
import { logsStreams } from "./logs-streams.ts";
import { logsTail, logsTailProcess } from "./logs-tail.ts";
import { logsTemplates } from "./logs-templates.ts";
import { logsTenMillion } from "./logs-ten-million.ts";
import { mcp } from "./mcp.ts";
import { memory } from "./memory.ts";
import { metrics } from "./metrics.ts";
import { otlp } from "./otlp.ts";
import { packageSearch } from "./package-search.ts";
import { processes } from "./processes.ts";
import { services } from "./services.ts";
import { snapshot } from "./snapshot.ts";
import { start, startBefore } from "./start.ts";
import { startPackage } from "./start-package.ts";
import { top } from "./top.ts";
import { unit } from "./unit.ts";
import { updates } from "./updates.ts";

/** All rows, in the order of the table. */
export const rows: readonly Row[] = [
  logsTail,
  logsTailProcess,
  logsFilter,
  logsGrep,
  logsCompressed,
  logsLatency,
  logsFanout,
  logsStreams,
  logsExplored,
  logsExport,
  logsTemplates,
  logsAccuracy,
  logsGrowth,
  logsIdle,
  logsFiles,
  logsTenMillion,
  logsClients,
  consoleLogs,
  consoleCockpit,
  logsExploredTenMillion,
  consoleJobs,
  memory,
  healthUnderGrep,
  logsAttack,
  healthTraced,
  healthSession,
  mcp,
  services,
  processes,
  top,
  unit,
  updates,
  packageSearch,
  snapshot,
  health,
  info,
  metrics,
  otlp,
  start,
  startBefore,
  idle,
  idleLogged,
  startPackage,
  cli,
  consoleView,
];
