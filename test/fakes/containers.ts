import type { Container, ContainerState } from "#domain/health/container-engines.ts";

/** A container that ended well an hour after the start of 2026, and that is not to run again. */
export const fakeContainerState = (given: Partial<ContainerState> = {}): ContainerState => ({
  exitCode: 0,
  isOomKilled: false,
  error: "",
  startedAt: Date.UTC(2026, 0, 1),
  finishedAt: Date.UTC(2026, 0, 1, 1),
  restarts: 0,
  restartPolicy: "no",
  mostRestarts: 0,
  ...given,
});

/** A container that has been running for long. */
export const fakeContainer = (given: Partial<Container> = {}): Container => ({
  engine: "docker",
  name: "web",
  state: "running",
  isUnhealthy: false,
  ...given,
});
