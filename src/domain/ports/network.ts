/** The answer of a name server; `code` is that of the resolver (`ETIMEOUT`, `ESERVFAIL`). */
export type NameAnswer =
  | { readonly isAnswered: true; readonly durationMs: number }
  | { readonly isAnswered: false; readonly durationMs: number; readonly code: string };

export interface NameServers {
  /** Configured addresses, in order. */
  readonly list: () => Promise<readonly string[]>;
  /** Asks a server for the addresses of a name; for the root `.`, for its name servers. */
  readonly ask: (server: string, name: string, signal: AbortSignal) => Promise<NameAnswer>;
}

export interface DefaultRoute {
  readonly family: "ipv4" | "ipv6";
  readonly interface: string;
  /** Null for a link without one, such as a tunnel. */
  readonly gateway: string | null;
  /** With a carrier. */
  readonly isUp: boolean;
}

export interface DefaultRoutes {
  readonly list: () => Promise<readonly DefaultRoute[]>;
}

/** Times are epoch milliseconds. */
export interface CertificateDates {
  readonly subject: string;
  readonly validFrom: number;
  readonly validTo: number;
}

export interface CertificateFiles {
  /** Those of a chain that clients of this host need: it ends where they trust a root of the same key. @throws when the file cannot be read or has no certificate. */
  readonly read: (path: string) => Promise<readonly CertificateDates[]>;
}

/** A `Match` block that only some connections meet. */
export interface SshMatch {
  /** Its first line, such as `Match Address 10.0.0.0/8`. */
  readonly match: string;
  /** As they are written, by lower-case name. */
  readonly options: Readonly<Record<string, string>>;
}

export type SshConfig =
  | {
      readonly is: "valid";
      /** By lower-case name; repeated options have all their values, one a line. */
      readonly options: Readonly<Record<string, string>>;
      /** What has other options for some connections. */
      readonly matches: readonly SshMatch[];
    }
  /** It would not start. */
  | { readonly is: "refused"; readonly message: string }
  /** It cannot be asked. */
  | { readonly is: "unknown"; readonly reason: string };

export interface SshUser {
  readonly name: string;
  readonly groups: readonly string[];
}

export interface SshServer {
  /**
   * @param user asks what holds for this user, but for where the connection comes from; without one, for what holds anyone who comes.
   * @returns undefined where no sshd is installed.
   */
  readonly config: (signal: AbortSignal, user?: SshUser) => Promise<SshConfig | undefined>;
  /** What holds for a connection of a usual user from another network to this port, `Match` blocks included. */
  readonly fromElsewhere: (signal: AbortSignal, port: string) => Promise<SshConfig>;
}

/** A port that the network reaches. */
export interface OpenPort {
  readonly protocol: "tcp" | "udp";
  readonly port: number;
  /** `0.0.0.0` and `::` are all addresses. */
  readonly address: string;
  /** By which kinds of address it is reached. */
  readonly families: readonly ("ipv4" | "ipv6")[];
  /** Of the socket, for finding its owner; 0 for sockets of the kernel. */
  readonly inode: number;
}

/** A port at which programs wait, on loopback too. */
export interface ListeningPort extends Omit<OpenPort, "families"> {
  readonly isLoopback: boolean;
  /** Whether the kernel may have given it out to a program that asked for none. */
  readonly mayBeGivenOut: boolean;
}

export interface SocketOwner {
  readonly program: string;
  /** Null for none. */
  readonly unit: string | null;
  /** Whether systemd itself started it, or is it: else it is a process that another one of its unit started. */
  readonly isMain: boolean;
}

export interface ListeningSockets {
  /** As `open`, those on loopback included. */
  readonly listening: () => Promise<readonly ListeningPort[]>;
  /** Those beyond loopback: listening TCP, and UDP at a fixed port without a peer. */
  readonly open: () => Promise<readonly OpenPort[]>;
  /** By socket, without those of other containers and of the kernel. */
  readonly owners: (inodes: readonly number[]) => Promise<ReadonlyMap<number, SocketOwner>>;
}
