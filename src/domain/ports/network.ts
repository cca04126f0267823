/** What became of a question to a name server; `code` is the reason as the resolver names it (`ETIMEOUT`, `ESERVFAIL`). */
export type NameAnswer =
  | { readonly isAnswered: true; readonly durationMs: number }
  | { readonly isAnswered: false; readonly durationMs: number; readonly code: string };

export interface NameServers {
  /** Addresses that the host is told to ask, in order. */
  readonly list: () => Promise<readonly string[]>;
  /** Asks one server for the addresses of a name; for the root `.`, for its name servers. */
  readonly ask: (server: string, name: string, signal: AbortSignal) => Promise<NameAnswer>;
}

export interface DefaultRoute {
  readonly family: "ipv4" | "ipv6";
  readonly interface: string;
  /** Null for a link without one, such as a tunnel. */
  readonly gateway: string | null;
  /** Whether the interface is up and has a carrier. */
  readonly isUp: boolean;
}

export interface DefaultRoutes {
  readonly list: () => Promise<readonly DefaultRoute[]>;
}

/** A certificate of a file. Times are epoch milliseconds. */
export interface CertificateDates {
  readonly subject: string;
  readonly validFrom: number;
  readonly validTo: number;
}

export interface CertificateFiles {
  /** @throws when the file cannot be read or holds no certificate: the message says which. */
  readonly read: (path: string) => Promise<readonly CertificateDates[]>;
}

/** What sshd would do with a connection, as it says itself. */
export type SshConfig =
  | {
      readonly is: "valid";
      /** By option name in lower case. An option that is given more than once has all its values, one a line. */
      readonly options: Readonly<Record<string, string>>;
    }
  /** It would not start. */
  | { readonly is: "refused"; readonly message: string }
  /** It cannot be asked. */
  | { readonly is: "untold"; readonly reason: string };

export interface SshServer {
  /** @returns undefined where no sshd is installed. */
  readonly config: (signal: AbortSignal) => Promise<SshConfig | undefined>;
}

/** A port on which the network reaches something. */
export interface OpenPort {
  readonly protocol: "tcp" | "udp";
  readonly port: number;
  /** Address that it is bound to; `0.0.0.0` and `::` are all. */
  readonly address: string;
  /** Over which kinds of address the network reaches it. */
  readonly families: readonly ("ipv4" | "ipv6")[];
  /** Number of the socket, by which its owner is found; 0 for sockets of the kernel itself. */
  readonly inode: number;
}

/** Sockets of this host's network that wait for others. */
export interface ListeningSockets {
  /** Those beyond loopback: TCP that listens, and UDP at a port of its own that is bound to no peer. */
  readonly open: () => Promise<readonly OpenPort[]>;
  /** Programs by socket; what belongs to another container, or to the kernel, is missing. */
  readonly owners: (inodes: readonly number[]) => Promise<ReadonlyMap<number, string>>;
}

/** A chain of rules that packets for this host go through. */
export interface InputChain {
  readonly families: readonly ("ipv4" | "ipv6")[];
  readonly table: string;
  readonly name: string;
  /** What becomes of a packet that no rule decides about. */
  readonly policy: "accept" | "drop";
  /**
   * Whether a rule of the chain, or of those it leads to, drops or rejects packets. One that does so only to certain
   * senders, or to packets of no known connection, does not count: it keeps nobody else out.
   */
  readonly isRefusing: boolean;
}

export interface PacketFilter {
  /** The chains, and why others could not be looked at. */
  readonly inputChains: (
    signal: AbortSignal,
  ) => Promise<{ readonly chains: readonly InputChain[]; readonly untold: readonly string[] }>;
}
