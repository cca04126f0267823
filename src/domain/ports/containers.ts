export type ContainerEngine = "docker" | "podman";

/** What an engine says of a container that it was asked for by itself. Times are epoch milliseconds. */
export interface ContainerState {
  /** Null while it runs, and where the engine does not say. */
  readonly exitCode: number | null;
  /** Whether the OOM killer ended it. */
  readonly isOomKilled: boolean;
  /** Why the engine could not start it; empty where it could. */
  readonly error: string;
  /** Null before the first time. */
  readonly startedAt: number | null;
  /** Null before the first time. */
  readonly finishedAt: number | null;
  /** How often its policy has restarted it; null where the engine does not say. */
  readonly restarts: number | null;
  /** Empty or `no` where it is not to run again by itself, else `always`, `unless-stopped`, `on-failure`. */
  readonly restartPolicy: string;
  /** Of `on-failure`; 0 without a limit. */
  readonly mostRestarts: number;
}

export interface Container {
  readonly engine: ContainerEngine;
  readonly name: string;
  /** The engine's word: `running`, `restarting`, `exited`, `created`, `paused`, `dead`, … */
  readonly state: string;
  /** Whether its own health check fails. */
  readonly isUnhealthy: boolean;
  /** Undefined for one that has been running for an hour, and beyond the first 100. */
  readonly inspected?: ContainerState;
  /** Why the engine says nothing of it. */
  readonly unread?: string;
}

/** Containers of Docker and of root's Podman, by the sockets of their API. */
export interface Containers {
  /** Engines that can be asked without starting Docker; no rights are needed to find out. */
  readonly engines: () => Promise<readonly ContainerEngine[]>;
  /** Those of all engines. @throws without the answer of one of them, which takes root. */
  readonly list: (signal: AbortSignal) => Promise<readonly Container[]>;
}
