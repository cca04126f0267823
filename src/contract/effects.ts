import type { Scope } from "./scopes.ts";

interface EffectRow {
  /** `self`: every caller has it. */
  readonly scope: Scope | "self";
  readonly summary: string;
}

/**
 * Effects of calls on the host or on others, each with its scope, whether by an operation, a fix of a health check or a plugin.
 * Reading is not listed: it needs the scope of its operation.
 */
export const effects = {
  restart_units: { scope: "services:restart", summary: "Restarts systemd units." },
  start_units: { scope: "services:start", summary: "Starts systemd units, and what they require." },
  stop_units: { scope: "services:stop", summary: "Stops systemd units, and what requires them." },
  reload_units: { scope: "services:reload", summary: "Has systemd units read their settings again." },
  enable_units: { scope: "services:enable", summary: "Decides whether systemd units start at boot." },
  mask_units: { scope: "services:mask", summary: "Makes systemd units impossible to start, or takes that back." },
  signal_processes: { scope: "processes:signal", summary: "Sends signals to processes, which may end by them." },
  reboot_host: { scope: "system:reboot", summary: "Reboots the host, or takes that back." },
  set_time: { scope: "system:time", summary: "Sets the time zone, and switches time synchronisation on or off." },
  set_hostname: { scope: "system:hostname", summary: "Renames the host." },
  restart_stale: {
    scope: "updates:apply",
    summary:
      "Restarts services that still run what an update has replaced (`restart_stale`), as far as services may be restarted.",
  },
  refresh_package_lists: { scope: "updates:read", summary: "Downloads package lists. Nothing is installed." },
  change_packages: {
    scope: "updates:apply",
    summary: "Installs, upgrades and sets up packages. Their scripts run as root, and may restart services.",
  },
  install_packages: {
    scope: "packages:install",
    summary:
      "Installs packages that are named and what they need, behind a snapshot of its own to which it may return. Their scripts run as root.",
  },
  remove_packages: {
    scope: "packages:remove",
    summary:
      "Removes packages and what depends on them, behind a snapshot of its own to which it may return. Their scripts run as root.",
  },
  hold_packages: {
    scope: "packages:hold",
    summary: "Keeps packages at their version, or lets them be updated again. No package changes by it.",
  },
  cancel_operations: {
    scope: "self",
    summary:
      "Cancels updates, rollbacks and the like that have changed nothing yet, with the scope that each of them takes.",
  },
  change_snapshots: { scope: "updates:apply", summary: "Takes and deletes snapshots." },
  undo_update: {
    scope: "updates:apply",
    summary: "Returns to the snapshot that the same call took (`guard`), and to no other.",
  },
  roll_back: { scope: "updates:rollback", summary: "Returns to any snapshot, behind a safety snapshot." },
  remove_files: {
    scope: "health:fix",
    summary: "Removes files that can be had again or have served their time: caches, old journal files, core dumps.",
  },
  remove_old_kernels: {
    scope: "health:fix",
    summary: "Removes kernels that the package manager needs no more: never the running one and the two newest.",
  },
  set_clock: { scope: "health:fix", summary: "Switches time synchronisation on." },
  silence_alerts: { scope: "health:fix", summary: "Makes and ends silences." },
  send_notifications: { scope: "health:fix", summary: "Sends a test to the channels of the settings." },
  probe_models: { scope: "connectors:test", summary: "Asks a provider whether it answers." },
  ask_models: { scope: "connectors:chat", summary: "Sends text to a language model." },
  choose_plugins: {
    scope: "plugins:write",
    summary:
      "Decides which plugins run, with the permissions of their manifests: an enabled check or hook is run by the service itself.",
  },
  run_plugins: { scope: "plugins:run", summary: "Runs an enabled command plugin with arguments of the caller." },
  change_keys: { scope: "keys:admin", summary: "Makes and revokes keys, within the scopes of the caller." },
  make_sessions: {
    scope: "self",
    summary:
      "Makes sessions of the caller's key and one-time codes for them, and elevates sessions, within the scopes of the key.",
  },
  change_passkeys: {
    scope: "self",
    summary: "Registers and removes passkeys of the caller's key; with keys:admin removes those of others.",
  },
  end_sessions: { scope: "self", summary: "Ends sessions of the caller's key, with keys:admin also those of others." },
  decide_approvals: {
    scope: "self",
    summary:
      "Approves, denies and takes back calls that wait for approval. What is approved has the effects of its own operation, whose scopes whoever approves has.",
  },
  make_tokens: { scope: "self", summary: "Makes tokens of the caller's key, within the scopes of the caller." },
} as const satisfies Readonly<Record<string, EffectRow>>;

export type Effect = keyof typeof effects;

export function scopesOf(list: readonly Effect[]): readonly Scope[] {
  const taken = list.map((effect): Scope | "self" => effects[effect].scope);
  return [...new Set(taken)].filter((scope) => scope !== "self");
}
