export { createDiscovery } from "./discovery.ts";
export type { ConnectorEntry, ConnectorSettings } from "./plan.ts";
export { createConnectorPlan } from "./plan.ts";
