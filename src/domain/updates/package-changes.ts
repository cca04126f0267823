import type { Context, Handlers, Input } from "#contract/operation.ts";
import type { packageChanges } from "#contract/package-changes.ts";
import { packageOf } from "#contract/packages.ts";
import type { Scope } from "#contract/scopes.ts";
import { invalid, type ScopeLack } from "#domain/common/error.ts";
import type { Hooks } from "#domain/common/hooks.ts";
import type { OperationSpec } from "#domain/ports/operations.ts";
import type { ChangeRequest } from "#domain/ports/packages.ts";
import type { FileSystems } from "#domain/ports/storage.ts";
import type { ApplyInput } from "./apply-steps.ts";
import { doingOf, planFor } from "./change-plan.ts";
import type { DowngradeRules } from "./downgrades.ts";
import { applyPlan, type FindHost, type LongWork, managedHost } from "./handlers.ts";
import { withAsking } from "./hooks.ts";
import { refusedAsInvalid } from "./refusals.ts";
import type { UpdateKind } from "./verbs.ts";

export interface PackageRights {
  /** Whether scopes cover one for a package, or for all. */
  readonly covers: (granted: readonly string[], scope: Scope, name?: string) => boolean;
  readonly lackOf: ScopeLack;
}

/** @throws DomainError `FORBIDDEN` with the first package for which a scope is missing, `CONFLICT` where a window holds one back. */
export function requirePackageScopes(
  { covers, lackOf }: PackageRights,
  { caller, checkWindows }: Pick<Context, "caller" | "checkWindows">,
  { scope, names }: { readonly scope: Scope; readonly names: readonly string[] },
): void {
  const { scopes = [] } = caller ?? {};
  const foreign = names.find((name) => !covers(scopes, scope, packageOf(name)));
  if (foreign !== undefined) throw lackOf(caller, scope, packageOf(foreign));
  for (const name of names) checkWindows(scope, packageOf(name));
}

interface Ports {
  readonly host: FindHost;
  readonly work: LongWork;
  readonly takesSnapshot: boolean;
  readonly rules: DowngradeRules;
  readonly fileSystems: FileSystems;
  readonly hooks: Pick<Hooks, "names">;
  readonly rights: PackageRights;
}

/** Installs, removes and purges packages, as updates are installed. */
export function packageChangeHandlers(ports: Ports): Handlers<typeof packageChanges> {
  const { host, work, rights, hooks } = ports;
  const changeBy =
    (change: ChangeRequest["change"], scope: Scope) =>
    async ({ query, body }: Input<typeof packageChanges.installPackages>, context: Context) => {
      const { packages: names, guard = false, create_snapshot: takesSnapshot = ports.takesSnapshot } = body;
      const { scopes = [] } = context.caller ?? {};
      requirePackageScopes(rights, context, { scope, names });
      if (guard && !takesSnapshot) throw invalid("guard", "A guarded change needs a snapshot to return to");
      const updates = await managedHost(host);
      // What comes along goes beyond the names that a narrowed key has.
      const removesOnlyNamed = !rights.covers(scopes, "packages:remove");
      const request: ChangeRequest = { change, names, removesOnlyNamed };
      const input: ApplyInput<ChangeRequest> = { request, takesSnapshot, isGuarded: guard };
      if (query.dry_run ?? false)
        return withAsking(hooks, "pre_update")(await applyPlan(updates, input, ports, context.signal()));
      return work.begin("packages.change", input, context, () =>
        refusedAsInvalid(() => planFor(updates.manager, request, context.signal()), doingOf(request)),
      );
    };
  return {
    installPackages: changeBy("install", "packages:install"),
    removePackages: changeBy("remove", "packages:remove"),
    purgePackages: changeBy("purge", "packages:remove"),
  };
}

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
