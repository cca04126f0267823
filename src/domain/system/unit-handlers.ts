import { serviceListLimit } from "#contract/limits.ts";
import type { Handlers } from "#contract/operation.ts";
import type { units } from "#contract/units.ts";
import { notShown } from "#domain/common/not-shown.ts";
import { membersUpTo, pageOf } from "#domain/common/page.ts";
import { unitKinds } from "#domain/ports/unit-details.ts";
import { onHost } from "./service.ts";
import { createServiceDetails, type DetailPorts } from "./service-details.ts";
import { toUnitEntry } from "./unit-entry.ts";

export function unitHandlers(ports: DetailPorts): Handlers<typeof units> {
  return {
    getService: createServiceDetails(ports),

    async listUnits({ query }) {
      const { type = "all", status = "all", limit = serviceListLimit.default, cursor } = query;
      const kinds = type === "all" ? unitKinds : [type];
      const activeState = status === "all" ? undefined : status;
      const wanted = { kinds, activeState, limit: membersUpTo({ limit, cursor }) };
      const { units, total } = await onHost("list units", () => ports.details.list(wanted));
      const { items, shape } = pageOf(units, { limit, cursor }, ({ name }) => name, total);
      return { units: items.map(toUnitEntry), ...shape, ...notShown("states", ports.details.absence) };
    },
  };
}
