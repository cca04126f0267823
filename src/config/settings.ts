import { type Static, Type } from "typebox";
import { notifyLevels } from "#contract/alerts.ts";
import { automaticNotifications, automaticReboots, automaticWhats } from "#contract/automatic-updates.ts";
import { severities } from "#contract/checks.ts";
import { defaultRateLimits } from "#contract/limits.ts";
import { Choice, Options, optional, Strict } from "#contract/schema.ts";
import { AlertsSettings, NotificationsSettings, ProbesSettings } from "./alerting-settings.ts";
import { CronText, Timezone } from "./cron.ts";
import { defaultListen, strict, text } from "./defaults.ts";

const off = Type.Literal("off");
const flag = (description: string) => Type.Boolean({ description });
const duration = Type.String({
  pattern: "^[1-9][0-9]*(ms|s|m|h|d)$",
  examples: ["30s"],
  description: "A duration such as `30s`, `5m`, `1h`.",
});
const describedDuration = (description: string) =>
  Type.String({ pattern: "^[1-9][0-9]*(ms|s|m|h|d)$", examples: ["30m"], description });
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

const Quota = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });
const Port = { minimum: 0, maximum: 65_535 };
const Percent = Type.Number({ minimum: 0 });

const UnitPattern = Type.String({
  pattern: "^[A-Za-z0-9:_.\\\\@*-]{1,255}$",
  examples: ["nginx.service"],
  description: "Name of a unit, or a pattern with `*`; without a suffix it means a service.",
});

const attempts = (usual: string) =>
  Type.Integer({
    minimum: 1,
    maximum: 100,
    description: `Consecutive runs until a warning or a failure counts and notifications are sent: ${usual}`,
  });

const BackupTarget = Strict({
  name: Type.String({
    pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
    examples: ["database"],
    description: "Name of the backup.",
  }),
  ...optional({
    folder: text("Directory with the files of the backup, an absolute path."),
    pattern: text("Pattern for the names of the files that count: `*.tar.zst`; all unless given."),
    unit: Type.String({
      pattern: "^[A-Za-z0-9:_.@\\\\][A-Za-z0-9:_.@\\\\-]{0,240}\\.(service|timer)$",
      examples: ["backup.timer"],
      description: "Instead of a directory: the service that runs the backup, or its timer.",
    }),
    snapper: Type.String({
      pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$",
      examples: ["root"],
      description: "Instead of a directory: the configuration of snapper whose newest snapshot counts.",
    }),
    warn: duration,
    fail: duration,
  }),
});

const Left = Type.Union([
  Type.String({
    pattern: "^[1-9][0-9]{0,8}(MB|GB|TB|MiB|GiB|TiB)$",
    examples: ["10GB"],
    description: "For `disk_space`: a size.",
  }),
  Type.Integer({ minimum: 0, description: "For `inode_usage`: a number of inodes." }),
]);
const FreeBelow = Options(
  { warn: Left, fail: Left },
  {
    description:
      "For `disk_space` and `inode_usage`: also warns or fails if less than this is free, in addition to the percentage.",
  },
);

const CheckSettings = Options({
  enabled: flag("Whether the check is enabled."),
  warn: Percent,
  fail: Percent,
  interval: duration,
  timeout: duration,
  attempts: attempts("the value of `health.attempts` unless given."),
  notify: Choice(notifyLevels, "When to notify of this check; the value of `notifications.checks` unless given."),
  ignore: Type.Array(Type.String()),
  margin: Type.Number({
    minimum: 0,
    maximum: 50,
    description:
      "Hysteresis: how far a value must go back across a threshold before the check leaves a state, in percent of the threshold; 2.5 unless given.",
  }),
  free_below: FreeBelow,
  mounts: Type.Record(
    Type.String({ pattern: "^/", examples: ["/srv"] }),
    Options({ warn: Percent, fail: Percent, free_below: FreeBelow }),
    { description: "For `disk_space` and `inode_usage`: thresholds by mount point.", ...strict },
  ),
  over: Choice(["1m", "5m", "10m"], "For `cpu_load`: time over which the value is averaged; `1m` unless given."),
  learning: describedDuration(
    "For `new_errors`: how long this host's logs must be known before an error counts as new; `7d` unless given.",
  ),
  isolated: flag(
    "For `network_connectivity`, `dns_resolution`, `time_sync` and `security_updates`: whether this host is isolated from other networks on purpose; the value of `health.isolated` unless given.",
  ),
  targets: Type.Array(BackupTarget, {
    maxItems: 64,
    description:
      "For `backup_age`: the backups to check, each given by a directory, a unit, or a snapper configuration.",
  }),
  command: Type.Array(Type.String({ pattern: "^[^\\u0000]*$" }), {
    minItems: 1,
    description:
      "Makes this an additional check: the absolute path of a monitoring plugin (Nagios, Icinga) and its arguments, run without a shell. Cannot be combined with `warn`, `fail` and `ignore`.",
  }),
  name: text("For a check with `command`: display name; its id unless given."),
  severity: Choice(severities, "For a check with `command`: severity; `medium` unless given."),
  guards_updates: flag("For a check with `command`: whether a guarded update is rolled back if it gets worse."),
  user: Choice(
    ["root"],
    "For a check with `command`: the user to run it as, for plugins that need root, such as `check_icmp`; the user of the service unless given.",
  ),
});

const ConnectorSettings = Strict({
  name: Type.String({
    pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
    examples: ["local"],
    description: "Identifier, used in paths and in chat requests.",
  }),
  provider: Choice(["openai", "anthropic", "google", "mistral", "ollama", "openai-compatible"], "Provider."),
  model: text("Model identifier."),
  ...optional({
    base_url: text(
      "Address of the provider, http or https; that of the provider itself unless given. Without a path, the usual path of the provider is added, such as `/v1`.",
    ),
    api_key_env: Type.String({
      pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
      examples: ["OPENAI_API_KEY"],
      description: "Environment variable with the key; the usual one of the provider unless given.",
    }),
    api_key_file: text("File with the key; it must not be readable by everybody."),
    api_key_credential: Type.String({
      pattern: "^[A-Za-z0-9._-]{1,255}$",
      examples: ["openai-key"],
      description: "systemd credential with the key (`LoadCredential=`).",
    }),
    api: Choice(["chat", "responses"], "For openai: which interface to use; `chat` unless given."),
    token_limit: Choice(
      ["max_tokens", "max_completion_tokens"],
      "For openai-compatible: name of the parameter that limits the tokens of an answer; `max_tokens` unless given.",
    ),
    timeout: duration,
  }),
});
export type ConnectorSettings = Static<typeof ConnectorSettings>;

const Tokens = Type.Integer({ minimum: 1, maximum: 1_000_000_000_000 });

const Budgets = Options({
  tokens_per_day: Type.Integer({
    ...Tokens,
    description: "Input and output tokens that a key may use per day (UTC).",
  }),
  keys: Type.Record(Type.String({ minLength: 1 }), Tokens, {
    description: "Separate budgets by name or id of the key.",
  }),
});

const WindowScopes = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 600 }), { maxItems: 100, description });

/** The settings file. Unknown keys are faults. */
export const Settings = Options(
  {
    listen: Type.String({
      default: defaultListen,
      description: "Address and port: `127.0.0.1:8470`, `[::1]:8470`, `0.0.0.0:8470`.",
    }),
    tls: Type.Union(
      [
        Strict({
          cert: text("Certificate chain, PEM."),
          key: text("Private key, PEM."),
          ...optional({
            client_ca: text(
              "CA certificates for client certificates, PEM. If given, clients are asked for a certificate.",
            ),
            client_certs: Choice(
              ["optional", "required"],
              "Whether clients must present a certificate; `optional` unless given.",
            ),
            client_crl: text("Revoked client certificates: a CRL of each CA, PEM."),
          }),
        }),
        Choice(["off", "auto"], "`auto` creates a self-signed certificate in the state directory."),
      ],
      { description: "Required to listen beyond loopback, where `off` must be given explicitly." },
    ),
    state_dir: text("Directory for keys and other state, mode 0700."),
    log: Options({ level: Choice(logLevels, "Minimum level that is logged.") }),
    rate_limits: Type.Union([
      Options({
        per_minute: Type.Integer({ ...Quota, default: defaultRateLimits.perMinute }),
        per_hour: Type.Integer({ ...Quota, default: defaultRateLimits.perHour }),
      }),
      off,
    ]),
    allowed_hosts: Type.Array(Type.String({ minLength: 1 }), {
      description:
        "Host names that clients may use for the service, in addition to IP addresses, localhost and the host's own name.",
    }),
    cors: Options({
      origins: Type.Array(
        Type.String({
          pattern: "^https?://([a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\\[[0-9a-f:.]+\\])(:[1-9][0-9]{0,4})?$",
          examples: ["https://console.example.org"],
          description:
            "An origin as browsers send it: scheme, name, and the port unless it is the default of the scheme.",
        }),
        {
          maxItems: 100,
          uniqueItems: true,
          description: "Origins of pages on other hosts that may use the API, with their own key. None unless given.",
        },
      ),
    }),
    public_url: text(
      "Public address of the service behind a reverse proxy: `https://hosts.example.org`, or with a path, `https://hosts.example.org/web1`. Its host name does not have to be in `allowed_hosts`.",
    ),
    trusted_proxies: Type.Array(Type.String({ minLength: 1 }), {
      description: "Addresses of reverse proxies whose X-Forwarded-For is trusted.",
    }),
    metrics: Options({
      public: Choice(
        ["loopback", "always", "never"],
        "Who may read /metrics without a key. `loopback`: programs on this host, unless `trusted_proxies`, or `allowed_hosts` of a service on loopback, indicate a proxy in front.",
      ),
    }),
    services: Options(
      {
        allow: Type.Array(UnitPattern, {
          description:
            "Units that may be restarted in addition to the default ones, including template instances that do not run.",
        }),
        deny: Type.Array(UnitPattern, {
          description:
            "Units that must not be restarted. An entry without `*` takes precedence over one with it, and `deny` over `allow`.",
        }),
      },
      { description: "Which services may be restarted; `docs/reference/services.md` has the default." },
    ),
    windows: Type.Array(
      Strict({
        name: Type.String({
          pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,56}$",
          examples: ["nightly"],
          description: "Unique name.",
        }),
        cron: CronText(
          "Cron expression of when it opens, in local time: minute, hour, day of the month, month, day of the week.",
        ),
        duration,
        ...optional({
          timezone: Timezone,
          allow: WindowScopes(
            "Scopes that are valid only inside a window that names them here, written as for keys: `updates:apply`, `services:restart:nginx.service`, `services:control`.",
          ),
          deny: WindowScopes("Scopes that are not valid inside it; takes precedence over `allow` of any window."),
          silence: flag(
            "Whether notifications of alerts and health checks are silenced while it is open; `false` unless given.",
          ),
          jitter: Type.String({
            pattern: "^[1-9][0-9]*(ms|s|m|h|d)$",
            examples: ["15m"],
            description:
              "Maximum delay of the opening; the actual delay differs by host and is always the same on a host.",
          }),
        }),
      }),
      { maxItems: 1000, description: "Windows in which changes are allowed or forbidden; see `docs/windows.md`." },
    ),
    sessions: Options(
      {
        idle: describedDuration("Time without a request after which a session ends; `30m` unless given."),
        absolute: describedDuration("Maximum lifetime of a session; `12h` unless given."),
        elevated: describedDuration("How long an elevated session may make changes; `15m` unless given."),
      },
      { description: "Sessions in a browser; see `docs/sessions.md`." },
    ),
    approvals: Options({
      require_for: WindowScopes(
        "Scopes, written as for keys: every call that needs one of them waits until another key has approved it.",
      ),
      approvers: Type.Integer({
        minimum: 1,
        maximum: 2,
        description: "Number of other keys that must approve; 1 unless given.",
      }),
      expire: duration,
    }),
    journal: Options({ dir: text("Journal directory.") }),
    health: Options({
      interval: duration,
      isolated: flag(
        "Whether this host is isolated from other networks on purpose; checks then ignore the consequences.",
      ),
      attempts: attempts(
        "3 unless given; 1 for a critical check that fails, and for checks that run every five minutes or less often.",
      ),
      checks: Type.Record(
        Type.String({ pattern: "^[a-z0-9_-]{1,128}$", examples: ["disk_space"] }),
        CheckSettings,
        strict,
      ),
    }),
    runbooks: Options({
      directory: text("Directory of the administrator's runbooks; `/etc/steward/runbooks` unless given."),
    }),
    connectors: Options({
      default: Type.String({ description: "The connector that is used unless another is named." }),
      list: Type.Array(ConnectorSettings),
      discover: flag("Whether to look for keys in the environment and for Ollama on this host; `true` unless given."),
      budgets: Budgets,
    }),
    plugins: Options({ dirs: Type.Array(Type.String()) }),
    updates: Options({
      enabled: flag("Whether Steward may change packages at all; with `false`, checks still report on them."),
      snapshot: flag("Whether an update takes a snapshot by default."),
      backend: Choice(
        ["auto", "packages"],
        "Snapshot backend. Both values mean `packages`, which works on any file system and needs no reboot; the setting exists for older files.",
      ),
      keep_snapshots: Type.Integer({ minimum: 1, description: "Number of snapshots to keep; 10 unless given." }),
      no_downgrade: Type.Record(
        Type.String({ minLength: 1 }),
        Type.Unsafe<string | false>({ anyOf: [{ type: "string", minLength: 1 }, { const: false }] }),
        {
          description:
            "By package name, which may end in `*`: the reason why a rollback must not downgrade it, or `false` for a package of the built-in list that may be downgraded. The built-in list has databases and similar packages.",
        },
      ),
      automatic: Strict(
        {
          what: Choice(automaticWhats, "Only security updates, or all updates that remove nothing."),
          window: Type.Union(
            [
              Strict({
                cron: CronText(
                  "Cron expression of when it opens, in local time: minute, hour, day of the month, month, day of the week.",
                ),
                duration: Type.Optional(duration),
                timezone: Type.Optional(Timezone),
              }),
              Type.String({ minLength: 1 }),
            ],
            { description: "When they are installed, or the name of one of `windows`." },
          ),
          ...optional({
            guard: flag("Whether to roll back if the host is worse afterwards; `true` unless given."),
            reboot: Choice(
              automaticReboots,
              "Whether to reboot the host if an update needs it. `in_window`: only while the window is open, else in the next one. `never` unless given.",
            ),
            notify: Choice(
              automaticNotifications,
              "What to notify of: installed updates and failures (`changes`, unless given), only `failures`, or nothing.",
            ),
          }),
        },
        {
          description:
            "Updates that the service installs by itself, once in each window, at a time in its first half that differs by host.",
        },
      ),
      guard_minutes: Type.Number({
        minimum: 0,
        description:
          "How long a guarded update is watched. Unless given: 90 seconds if nothing gets worse, else up to 5 minutes.",
      }),
    }),
    tracing: Options({
      endpoint: text(
        "Address of an OTLP collector that spans are sent to, including received ones: `http://127.0.0.1:4318`. Without it, some of the service's own spans are stored here.",
      ),
      protocol: Choice(["http", "grpc"], "OTLP over HTTP (unless given) or gRPC."),
      sample: Type.Number({
        minimum: 0,
        maximum: 1,
        description:
          "Fraction of traces to sample; 1 unless given. For a trace that began elsewhere, its headers decide.",
      }),
      receiver: Choice(
        ["auto", "on", "off"],
        "Whether to receive spans over OTLP on loopback. `auto` (unless given): if both ports are free; with `on`, a port in use is an error.",
      ),
      ports: Options(
        {
          grpc: Type.Integer({ ...Port, description: "4317 unless given." }),
          http: Type.Integer({ ...Port, description: "4318 unless given." }),
        },
        { description: "Ports for receiving spans; 0 means any free port, which is logged." },
      ),
      keep: Type.String({
        pattern: "^[1-9][0-9]{0,5}(MiB|GiB)$",
        examples: ["64MiB"],
        description: "Disk space for traces, `64MiB` unless given; the oldest are removed first.",
      }),
    }),
    audit: Options({
      max_size: Type.String({
        pattern: "^[1-9][0-9]{0,5}(MiB|GiB)$",
        examples: ["64MiB"],
        description: "Size at which a new file of the audit log is started; `16MiB` unless given.",
      }),
      keep_files: Type.Integer({
        minimum: 1,
        maximum: 100_000,
        description: "Maximum number of audit log files; 10 unless given. The oldest are removed first.",
      }),
    }),
    probes: ProbesSettings,
    alerts: AlertsSettings,
    notifications: NotificationsSettings,
  },
  { title: "Steward settings" },
);
export type Settings = Static<typeof Settings>;
