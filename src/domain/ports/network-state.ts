import { HostUnavailable } from "#domain/common/host-unavailable.ts";

type Family = "ipv4" | "ipv6";

export interface Link {
  readonly name: string;
  readonly kind: string;
  readonly state: string;
  readonly isUp: boolean;
  readonly hasCarrier: boolean;
  readonly mtu: number;
  readonly mac: string | null;
  readonly speedMbps: number | null;
  readonly master: string | null;
  readonly addresses: readonly {
    readonly family: Family;
    readonly address: string;
    readonly prefixLength: number;
    readonly scope: string;
    /** The address at the other end of a link between two. */
    readonly peer?: string;
    /** The name of an address of IPv4 where it is another than that of its link. */
    readonly label?: string;
  }[];
}

export interface Route {
  readonly family: Family;
  readonly destination: string;
  readonly type: string;
  readonly gateway: string | null;
  readonly link: string | null;
  readonly metric: number;
}

export interface Links {
  /** By name. @throws NetworkUnavailable. */
  readonly links: () => Promise<readonly Link[]>;
  /** Of the main table, without those of the host's own addresses. */
  readonly routes: () => Promise<readonly Route[]>;
}

export interface Listener {
  readonly protocol: "tcp" | "udp";
  readonly address: string;
  readonly port: number;
  readonly unit: string | null;
}

export interface Listeners {
  /** @throws NetworkUnavailable. */
  readonly list: (signal: AbortSignal) => Promise<readonly Listener[]>;
}

export class NetworkUnavailable extends HostUnavailable {
  override readonly name = "NetworkUnavailable";
}
