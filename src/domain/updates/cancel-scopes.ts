import type { Context } from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";
import type { OperationSpec } from "#domain/ports/operations.ts";
import type { ChangeRequest } from "#domain/ports/packages.ts";
import type { ApplyInput } from "./apply-steps.ts";
import { type PackageRights, requirePackageScopes } from "./package-changes.ts";
import type { UpdateKind } from "./verbs.ts";

const scopeOfKind: Readonly<Record<Exclude<UpdateKind, "packages.change">, Scope>> = {
  "updates.apply": "updates:apply",
  "updates.rollback": "updates:rollback",
  "updates.restart_stale": "updates:apply",
  "snapshots.create": "updates:apply",
  "snapshots.delete": "updates:apply",
};

/** Refuses a caller who could not have started an operation. @throws DomainError `FORBIDDEN` */
export function requireOperationScopes(
  rights: PackageRights,
  { kind, input }: Pick<OperationSpec, "kind" | "input">,
  context: Pick<Context, "caller" | "checkWindows">,
): void {
  if (kind === "packages.change") {
    // The input was checked before it was recorded.
    const { request } = input as ApplyInput<ChangeRequest>;
    const scope = request.change === "install" ? "packages:install" : "packages:remove";
    requirePackageScopes(rights, context, { scope, names: request.names });
    return;
  }
  // A kind of another version takes what most of them do.
  const scope = new Map<string, Scope>(Object.entries(scopeOfKind)).get(kind) ?? "updates:apply";
  const { scopes = [] } = context.caller ?? {};
  if (!rights.covers(scopes, scope)) throw rights.lackOf(context.caller, scope);
  context.checkWindows(scope);
}
