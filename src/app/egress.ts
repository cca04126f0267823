import { isIP } from "node:net";
import { providers } from "#adapters/llm/providers.ts";
import type { HttpTarget } from "#adapters/notifier/services.ts";
import { connectorSettings } from "#config/connectors.ts";
import type { Config } from "#config/load.ts";
import { notificationTargets } from "#config/notifications.ts";
import { readServiceFile } from "#config/places.ts";
import { probeTargets } from "#config/probes.ts";
import { isAddressOrNetwork, isLoopbackAddress } from "#config/text.ts";

export interface EgressTarget {
  readonly purpose: string;
  readonly host: string;
}

const hostOf = (url: string | URL): string => new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");

function addressOf(target: HttpTarget): string {
  if ("url" in target) return target.url;
  return readServiceFile("urlFile" in target ? target.urlFile : target.webhookFile).text.trim();
}

export function egressTargets({ settings }: Pick<Config, "settings">): readonly EgressTarget[] {
  const connectors = connectorSettings(settings).list.flatMap(
    ({ name, provider, baseUrl = providers[provider].baseUrl }) =>
      baseUrl === undefined ? [] : [{ purpose: `connector ${name}`, host: hostOf(baseUrl) }],
  );
  const { http, email } = notificationTargets(settings);
  const services = http.map(({ channel, target }) => ({
    purpose: `notifications by ${channel}`,
    host: hostOf(addressOf(target)),
  }));
  const mail = email.map(({ channel, settings: { server } }) => ({
    purpose: `notifications by ${channel}`,
    host: hostOf(server.url),
  }));
  const probes = probeTargets(settings).flatMap(({ name, target }) => {
    if (target.kind === "unit" || target.kind === "dns") return [];
    return [{ purpose: `probe ${name}`, host: target.kind === "tcp" ? target.host : hostOf(target.url) }];
  });
  const endpoint = settings.tracing?.endpoint;
  const traces = endpoint === undefined ? [] : [{ purpose: "traces", host: hostOf(endpoint) }];
  return [...connectors, ...services, ...mail, ...traces, ...probes];
}

const heading = (file: string, at: string): string => `# Written by \`steward config egress\` for ${file} on ${at}.
# Write it again when the settings or the name servers change, then: systemctl daemon-reload && systemctl restart steward
#
# systemd knows addresses, not names: a provider that moves to another address is refused until this file is written again. An address
# is permitted with every port and in both directions. It takes a kernel with BPF for control groups; without, systemd logs a warning
# and nothing is limited. What root's tasks do, such as installing packages, is not limited by this.
`;

/** @param ports.clients networks of clients. @throws Error where something is missing, with a remedy. */
export async function egressDropIn(
  config: Config,
  ports: {
    readonly clients: readonly string[];
    readonly allow: readonly string[];
    readonly now: Date;
    readonly resolve: (name: string) => Promise<readonly string[]>;
    readonly nameServers: () => Promise<readonly string[]>;
  },
) {
  const { clients, allow, now, resolve, nameServers } = ports;
  for (const each of [...clients, ...allow])
    if (!isAddressOrNetwork(each))
      throw new Error(`cannot permit ${each}: expected an IP address or a network such as 10.0.0.0/8`);
  if (!isLoopbackAddress(config.listen.host) && clients.length === 0)
    throw new Error(
      `cannot limit the addresses of a service that listens on ${config.listen.host}: its clients would be refused, too (name their networks: --clients 10.0.0.0/8)`,
    );
  const lines = ["# this host", "IPAddressAllow=localhost"];
  const unresolved: EgressTarget[] = [];
  const permit = (comment: string, addresses: readonly string[]): void => {
    // systemd takes IPv6 addresses without their interface.
    const plain = addresses.map((address) => address.replace(/%.*$/, ""));
    const others = plain.filter((address) => !isLoopbackAddress(address));
    if (others.length > 0) lines.push(`# ${comment}`, `IPAddressAllow=${[...new Set(others)].join(" ")}`);
  };
  permit("name servers", await nameServers());
  for (const target of egressTargets(config)) {
    const { purpose, host } = target;
    if (isIP(host) !== 0 || isLoopbackAddress(host)) permit(purpose, [host]);
    else {
      const addresses = await resolve(host).catch(() => []);
      permit(`${purpose}: ${host}`, addresses);
      if (addresses.length > 0) continue;
      unresolved.push(target);
      lines.push(`# ${purpose}: ${host} could not be resolved`);
    }
  }
  permit("clients", clients);
  permit("as given", allow);
  const text = `${heading(config.file ?? "the built-in defaults", now.toISOString())}[Service]\nIPAddressDeny=any\n${lines.join("\n")}\n`;
  return { text, unresolved };
}
