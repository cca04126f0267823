/** First part of every HTTP and WebSocket path but the probes and `/metrics`. */
export const apiBase = "/api/v1";

/** Requests for each key, as the contract sets them. */
export const defaultRateLimits = { perMinute: 100, perHour: 1000 } as const;

/** Largest request body that is read. */
export const maxBodyBytes = 1024 * 1024;

/** Bounds and default of `limit` on the service listing. Outside them is an error, never a silent cut. */
export const serviceListLimit = { minimum: 1, maximum: 1000, default: 100 } as const;

/** Bounds and default of `limit` on the log query. */
export const logQueryLimit = { minimum: 1, maximum: 10_000, default: 1000 } as const;

/** Bounds and default of `limit` on the history of a check. */
export const checkHistoryLimit = { minimum: 1, maximum: 10_000, default: 1000 } as const;

/** Bounds and default of `limit` on the trace listing. */
export const traceListLimit = { minimum: 1, maximum: 1000, default: 100 } as const;

/** How far back the history of a check goes unless asked otherwise, and how long runs are kept. */
export const checkHistoryWindowMs = 24 * 60 * 60 * 1000;
export const checkHistoryKeptMs = 30 * checkHistoryWindowMs;

/** How old a result may be before the check runs again, unless its settings say otherwise. */
export const checkIntervalMs = 60_000;
/** Time after which a check that has not ended has failed. */
export const checkTimeoutMs = 30_000;
/** Time after which the steps of a fix are told to end. */
export const fixTimeoutMs = 10 * 60_000;
/** Checks that run at the same time. */
export const maxConcurrentChecks = 4;

/** How far back a log query looks unless it says otherwise. */
export const logWindowMs = 60 * 60 * 1000;

/** Upper bounds of the request duration histogram, in seconds. */
export const durationBuckets = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0] as const;

/** How often each monitored component is probed. */
export const probeIntervalMs = 30_000;
