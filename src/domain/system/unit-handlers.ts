import { serviceListLimit } from "#contract/limits.ts";
import type { Handlers } from "#contract/operation.ts";
import type { units } from "#contract/units.ts";
import { unitKinds } from "#domain/ports/unit-details.ts";
import { onHost } from "./service.ts";
import { createServiceDetails, type DetailPorts } from "./service-details.ts";
import { toUnitEntry } from "./unit-entry.ts";

export function unitHandlers(ports: DetailPorts): Handlers<typeof units> {
  return {
    getService: createServiceDetails(ports),

    async listUnits({ query }) {
      const { type = "all", status = "all", limit = serviceListLimit.default } = query;
      const kinds = type === "all" ? unitKinds : [type];
      const activeState = status === "all" ? undefined : status;
      const { units, total } = await onHost("list units", () => ports.details.list({ kinds, activeState, limit }));
      return { units: units.map(toUnitEntry), total };
    },
  };
}
