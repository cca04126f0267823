import { allows } from "#domain/access/scopes.ts";
import { type PackagePorts, packagesHandlers } from "#domain/packages/handlers.ts";

export function createPackagesPart({ manager }: Pick<PackagePorts, "manager">) {
  return {
    handlers: packagesHandlers({
      manager,
      maySee: (caller, name) => allows(caller?.scopes ?? [], "packages:read", name),
      seesAll: (caller) => allows(caller?.scopes ?? [], "packages:read"),
    }),
  };
}
