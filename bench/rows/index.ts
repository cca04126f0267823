import type { Row } from "../row.ts";
import { health } from "./health.ts";
import { info } from "./info.ts";
import { metrics } from "./metrics.ts";
import { services } from "./services.ts";
import { start } from "./start.ts";

/** All rows, in the order of the table. */
export const rows: readonly Row[] = [services, health, info, metrics, start];
