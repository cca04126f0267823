import type { ConnectorDefinition, ConnectorDiscovery } from "#domain/ports/connectors.ts";

export interface FakeConnectorDiscovery extends ConnectorDiscovery {
  /** What is found from now on. */
  readonly set: (connectors: readonly ConnectorDefinition[]) => void;
  /** How often it looked. */
  readonly looks: () => number;
}

export function createFakeConnectorDiscovery(given: readonly ConnectorDefinition[] = []): FakeConnectorDiscovery {
  let connectors = given;
  let looks = 0;
  return {
    set(next) {
      connectors = next;
    },
    looks: () => looks,
    find() {
      looks += 1;
      return Promise.resolve(connectors);
    },
  };
}
