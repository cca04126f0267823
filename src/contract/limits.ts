/** Prefix of every HTTP and WebSocket path except the probes and `/metrics`. */
export const apiBase = "/api/v1";

/** So many faults of a request are named. */
export const maxFaults = 32;

export const defaultRateLimits = { perMinute: 100, perHour: 1000 } as const;

export const maxBodyBytes = 1024 * 1024;

/** A connection on which nothing is sent for so long is closed: an answer, or a refusal, has to come before. */
export const idleConnectionMs = 60_000;

/** Bounds and default of `limit` on the service listing. Values outside are an error, not cut. */
export const serviceListLimit = { minimum: 1, maximum: 1000, default: 100 } as const;

/** As many values of a field as an answer can have. */
export const logFieldValuesLimit = { minimum: 1, maximum: 100_000 } as const;

/** The most is what a host has in all but rare cases. */
export const processListLimit = { minimum: 1, maximum: 10_000, default: 100 } as const;
export const packageListLimit = { minimum: 1, maximum: 1000, default: 100 } as const;

export const packageHistoryLimit = { minimum: 1, maximum: 1000, default: 50 } as const;

export const logQueryLimit = { minimum: 1, maximum: 10_000, default: 1000 } as const;

/** Buckets of a histogram, values of a facet, entries on either side of one. */
export const logBuckets = { minimum: 1, maximum: 1000, default: 60 } as const;
/** Templates of an answer. */
export const logTemplateLimit = { minimum: 1, maximum: 1000, default: 100 } as const;
export const logFacetLimit = { minimum: 1, maximum: 1000, default: 10 } as const;
/** Files of the journal that cannot be read, of those that are named in an answer. */
export const maxUnreadFiles = 16;
export const logContextLimit = { minimum: 0, maximum: 1000, default: 10 } as const;

/** Units that one query of the journal names. */
export const maxLogUnits = 64;

export const checkHistoryLimit = { minimum: 1, maximum: 10_000, default: 1000 } as const;

export const traceListLimit = { minimum: 1, maximum: 1000, default: 100 } as const;

/** Default length of the history of a check, and how long transitions are kept. */
export const checkHistoryWindowMs = 24 * 60 * 60 * 1000;
export const checkHistoryKeptMs = 30 * checkHistoryWindowMs;
/** For so long every run is kept. */
export const checkRunsKeptMs = 60 * 60 * 1000;
export const maxTransitionsPerCheck = 1000;
export const uptimeDays = [1, 7, 30] as const;

/** Figures of checks: a value each minute, then a mean, minimum and maximum each hour. */
export const metricMinutesKeptMs = 2 * checkHistoryWindowMs;
export const metricHoursKeptMs = 90 * checkHistoryWindowMs;
export const maxSeriesPerCheck = 16;
export const maxSeries = 200;

export const checkIntervalMs = 60_000;
export const checkTimeoutMs = 30_000;
export const fixTimeoutMs = 10 * 60_000;
export const maxConcurrentChecks = 4;

export const logWindowMs = 60 * 60 * 1000;

/** Upper bounds of the request duration histogram, in seconds. */
export const durationBuckets = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0] as const;

export const probeIntervalMs = 30_000;
