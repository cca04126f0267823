import type { Static } from "typebox";
import { Type } from "typebox";
import { Timestamp } from "./schema.ts";

const PackageUpdate = Type.Object({
  name: Type.String(),
  current_version: Type.String(),
  new_version: Type.String(),
  is_security: Type.Boolean(),
});

export const UpdateCheck = Type.Object({
  system: Type.Object({
    available: Type.Boolean(),
    version: Type.String(),
    release_date: Type.String({ description: "Date, YYYY-MM-DD; empty when there is none." }),
    is_security: Type.Boolean(),
    changelog: Type.String(),
  }),
  packages: Type.Object({
    total: Type.Integer(),
    security: Type.Integer(),
    updates: Type.Array(PackageUpdate),
  }),
});
export type UpdateCheck = Static<typeof UpdateCheck>;

export const UpdateApply = Type.Object({
  success: Type.Boolean(),
  snapshot_id: Type.String(),
  packages_updated: Type.Integer(),
  requires_reboot: Type.Boolean(),
});
export type UpdateApply = Static<typeof UpdateApply>;

export const Snapshot = Type.Object({
  id: Type.String(),
  description: Type.String(),
  created_at: Timestamp("When the snapshot was taken."),
  size_bytes: Type.Integer(),
});
export type Snapshot = Static<typeof Snapshot>;
