import { type AdaptersOfList, handlersOf, lifecycleOf, noParts, type PartContext } from "./part.ts";
import { accessPart } from "./parts/access.ts";
import { administrationPart } from "./parts/administration.ts";
import { alertsPart } from "./parts/alerts.ts";
import { auditPart } from "./parts/audit.ts";
import { automaticPart } from "./parts/automatic-updates.ts";
import { connectorsPart } from "./parts/connectors.ts";
import { explainPart } from "./parts/explain.ts";
import { approvalsPart, windowsPart } from "./parts/gates.ts";
import { healthPart } from "./parts/health.ts";
import { hostPart, rootSidePart, tracesPart } from "./parts/host.ts";
import { httpPart, type PartHandlers } from "./parts/http.ts";
import { logsPart } from "./parts/logs.ts";
import { operationsPart } from "./parts/operations.ts";
import { hookPoints, pluginsPart } from "./parts/plugins.ts";
import { proberPart, probesPart } from "./parts/probes.ts";
import { resourcesPart } from "./parts/resources.ts";
import { systemPart } from "./parts/system.ts";
import { tlsPart } from "./parts/tls.ts";
import { updatesPart } from "./parts/updates.ts";

/** Started together; stopped and disposed of in reverse. */
const list = noParts
  .add("prober", proberPart)
  .add("hookPoints", hookPoints)
  .add("tls", tlsPart)
  .add("audit", auditPart)
  .add("access", accessPart)
  .add("traces", tracesPart)
  .add("rootSide", rootSidePart)
  .add("host", hostPart)
  .add("operations", operationsPart)
  .add("updates", updatesPart)
  .add("logs", logsPart)
  .add("system", systemPart)
  .add("administration", administrationPart)
  .add("resources", resourcesPart)
  .add("connectors", connectorsPart)
  .add("health", healthPart)
  .add("plugins", pluginsPart)
  .add("windows", windowsPart)
  .add("approvals", approvalsPart)
  .add("alerts", alertsPart)
  .add("automatic", automaticPart)
  .add("explain", explainPart)
  .add("all", (_context: PartContext, parts): { readonly handlers: PartHandlers } => ({ handlers: handlersOf(parts) }))
  .add("http", httpPart)
  .add("probes", probesPart);

export type PartAdapters = AdaptersOfList<typeof list>;

/** @param adapters those of this host, unless others are given. */
export async function buildService(context: PartContext, adapters?: PartAdapters) {
  const parts = await list.build(context, adapters);
  parts.approvals.runsWith(parts.all.handlers);
  const lifecycle = lifecycleOf(parts, context.log);
  parts.http.onClosing(lifecycle.stop);
  return { parts, lifecycle };
}

export type Service = Awaited<ReturnType<typeof buildService>>;
