import { type Static, Type } from "typebox";
import { notifyLevels } from "#contract/alerts.ts";
import { automaticNews, automaticReboots, automaticWhats } from "#contract/automatic-updates.ts";
import { severities } from "#contract/checks.ts";
import { defaultRateLimits } from "#contract/limits.ts";
import { Choice, Options, optional, Strict } from "#contract/schema.ts";
import { AlertsSettings, NotificationsSettings, ProbesSettings } from "./alerting-settings.ts";
import { CronText, Timezone } from "./cron.ts";
import { defaultListen } from "./defaults.ts";
import { strict, text } from "./schema.ts";

const off = Type.Literal("off");
const flag = (description: string) => Type.Boolean({ description });
const duration = Type.String({
  pattern: "^[1-9][0-9]*(ms|s|m|h|d)$",
  examples: ["30s"],
  description: "A time such as `30s`, `5m`, `1h`.",
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
  description: "Name of a unit, or a pattern with `*`; without a suffix it is that of a service.",
});

const attempts = (usual: string) =>
  Type.Integer({
    minimum: 1,
    maximum: 100,
    description: `Runs in a row until a warning or a failure counts and people are told: ${usual}`,
  });

const BackupTarget = Strict({
  name: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", examples: ["database"], description: "Its name." }),
  ...optional({
    folder: text("Directory with the files of the backup, an absolute path."),
    pattern: text("Which files of the directory count, by their names: `*.tar.zst`; all unless given."),
    unit: Type.String({
      pattern: "^[A-Za-z0-9:_.@\\\\][A-Za-z0-9:_.@\\\\-]{0,240}\\.(service|timer)$",
      examples: ["backup.timer"],
      description: "Instead of a directory: the service that makes the backup, or its timer.",
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
    description: "Of `disk_space`: a size.",
  }),
  Type.Integer({ minimum: 0, description: "Of `inode_usage`: how many." }),
]);
const FreeBelow = Options(
  { warn: Left, fail: Left },
  {
    description:
      "Of `disk_space` and `inode_usage`: below how much of what is left it warns and fails, beside the percentage.",
  },
);

const CheckSettings = Options({
  enabled: flag("Whether there is this check at all."),
  warn: Percent,
  fail: Percent,
  interval: duration,
  timeout: duration,
  attempts: attempts("what `health.attempts` says unless given."),
  notify: Choice(
    notifyLevels,
    "From when on people are told of this check: what `notifications.checks` says unless given.",
  ),
  ignore: Type.Array(Type.String()),
  margin: Type.Number({
    minimum: 0,
    maximum: 50,
    description:
      "How far beyond a threshold a figure has to go back before the check leaves a state, in percent of the threshold; 2.5 unless given.",
  }),
  free_below: FreeBelow,
  mounts: Type.Record(
    Type.String({ pattern: "^/", examples: ["/srv"] }),
    Options({ warn: Percent, fail: Percent, free_below: FreeBelow }),
    { description: "Of `disk_space` and `inode_usage`: thresholds by mount point.", ...strict },
  ),
  over: Choice(["1m", "5m", "10m"], "Of `cpu_load`: over which time its figure is the average; `1m` unless given."),
  isolated: flag(
    "Of `network_connectivity`, `dns_resolution`, `time_sync` and `security_updates`: whether this host is meant to have no way out; what `health.isolated` says unless given.",
  ),
  targets: Type.Array(BackupTarget, {
    maxItems: 64,
    description:
      "Of `backup_age`: the backups whose age counts, each by a directory, by a unit, or by a configuration of snapper.",
  }),
  command: Type.Array(Type.String({ pattern: "^[^\\u0000]*$" }), {
    minItems: 1,
    description:
      "Makes this a check of its own: a monitoring plugin (Nagios, Icinga), its absolute path and its arguments. No shell reads them. Not together with `warn`, `fail` and `ignore`.",
  }),
  name: text("Display name of a check with `command`; its id unless given."),
  severity: Choice(severities, "Of a check with `command`: `medium` unless given."),
  guards_updates: flag("Of a check with `command`: whether a guarded update is rolled back when it gets worse."),
  user: Choice(
    ["root"],
    "Of a check with `command` that needs root, as `check_icmp` does: the user of the service unless given.",
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
      "Address of the provider, http or https; the provider's own unless given. Without a path it gets that of the provider, such as `/v1`.",
    ),
    api_key_env: Type.String({
      pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
      examples: ["OPENAI_API_KEY"],
      description: "Environment variable that holds the key; unless given, the one that is usual for the provider.",
    }),
    api_key_file: text("File that holds the key and that not everybody can read."),
    api_key_credential: Type.String({
      pattern: "^[A-Za-z0-9._-]{1,255}$",
      examples: ["openai-key"],
      description: "systemd credential that holds the key (`LoadCredential=`).",
    }),
    api: Choice(["chat", "responses"], "Of openai: which of its interfaces; `chat` unless given."),
    token_limit: Choice(
      ["max_tokens", "max_completion_tokens"],
      "Of openai-compatible: the name under which the server takes the most tokens of an answer; `max_tokens` unless given.",
    ),
    timeout: duration,
  }),
});
export type ConnectorSettings = Static<typeof ConnectorSettings>;

const Tokens = Type.Integer({ minimum: 1, maximum: 1_000_000_000_000 });

const Budgets = Options({
  tokens_per_day: Type.Integer({
    ...Tokens,
    description: "Tokens, in and out together, that a key may use on a day (UTC).",
  }),
  keys: Type.Record(Type.String({ minLength: 1 }), Tokens, {
    description: "Budgets of their own, by the name or the id of a key.",
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
              "Who signs certificates of clients, PEM. Clients are asked for a certificate where this is given.",
            ),
            client_certs: Choice(
              ["optional", "required"],
              "Whether a client has to have a certificate; `optional` unless given.",
            ),
            client_crl: text("Certificates of clients that were taken back: a CRL of each CA, PEM."),
          }),
        }),
        Choice(["off", "auto"], "`auto` makes a self-signed pair in the state folder."),
      ],
      { description: "Needed to listen beyond loopback; `off` there has to be written out." },
    ),
    state_dir: text("Folder for keys and other state, mode 0700."),
    log: Options({ level: Choice(logLevels, "Least level that is logged.") }),
    rate_limits: Type.Union([
      Options({
        per_minute: Type.Integer({ ...Quota, default: defaultRateLimits.perMinute }),
        per_hour: Type.Integer({ ...Quota, default: defaultRateLimits.perHour }),
      }),
      off,
    ]),
    allowed_hosts: Type.Array(Type.String({ minLength: 1 }), {
      description:
        "Names under which clients may reach the service, besides IP addresses, localhost and the host's own name.",
    }),
    cors: Options({
      origins: Type.Array(
        Type.String({
          pattern: "^https?://([a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\\[[0-9a-f:.]+\\])(:[1-9][0-9]{0,4})?$",
          examples: ["https://console.example.org"],
          description: "An origin as browsers send it: scheme, name, and the port unless it is that of the scheme.",
        }),
        {
          maxItems: 100,
          uniqueItems: true,
          description:
            "Origins of pages elsewhere that may use the interface, with a key of their own. None unless given.",
        },
      ),
    }),
    public_url: text(
      "Where clients reach the service behind a reverse proxy: `https://hosts.example.org`, or with a path, `https://hosts.example.org/web1`. Its name needs no place in `allowed_hosts`.",
    ),
    trusted_proxies: Type.Array(Type.String({ minLength: 1 }), {
      description: "Addresses of reverse proxies whose X-Forwarded-For is believed.",
    }),
    metrics: Options({
      public: Choice(
        ["loopback", "always", "never"],
        "Who may read /metrics without a key. `loopback`: programs on this machine, unless `trusted_proxies`, or `allowed_hosts` of a service on loopback, say that a proxy is in front.",
      ),
    }),
    services: Options(
      {
        allow: Type.Array(UnitPattern, {
          description:
            "Units that may be restarted besides those of the default, instances of templates that do not run included.",
        }),
        deny: Type.Array(UnitPattern, {
          description:
            "Units that are not restarted; an entry without `*` stands above one with it, and `deny` above `allow`.",
        }),
      },
      { description: "Which services may be restarted; `docs/reference/services.md` has the default." },
    ),
    windows: Type.Array(
      Strict({
        name: Type.String({
          pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,56}$",
          examples: ["nightly"],
          description: "Its name, of which there is one.",
        }),
        cron: CronText("When it opens: minute, hour, day of the month, month, day of the week, by local time."),
        duration,
        ...optional({
          timezone: Timezone,
          allow: WindowScopes(
            "Scopes that are good only inside a window that names them here, by the rules of keys: `updates:apply`, `services:restart:nginx.service`, `services:control`.",
          ),
          deny: WindowScopes("Scopes that are not good inside it; stands above `allow` of any window."),
          silence: flag("Whether nobody is told of alerts and health checks while it is open; `false` unless given."),
          jitter: Type.String({
            pattern: "^[1-9][0-9]*(ms|s|m|h|d)$",
            examples: ["15m"],
            description: "By how much at most a host opens it later; by how much is always the same on a host.",
          }),
        }),
      }),
      { maxItems: 1000, description: "Windows in which changes are allowed or forbidden; see `docs/windows.md`." },
    ),
    sessions: Options(
      {
        idle: describedDuration("After so long without a request a session ends; `30m` unless given."),
        absolute: describedDuration("After so long it ends, however much it is used; `12h` unless given."),
        elevated: describedDuration("For so long it may change something; `15m` unless given."),
      },
      { description: "Sessions in a browser; see `docs/sessions.md`." },
    ),
    approvals: Options({
      require_for: WindowScopes(
        "Scopes, by the rules of keys: calls that need one of them wait until another key has approved them, whoever makes them.",
      ),
      approvers: Type.Integer({
        minimum: 1,
        maximum: 2,
        description: "How many others have to approve; 1 unless given.",
      }),
      expire: duration,
    }),
    journal: Options({ dir: text("Journal folder.") }),
    health: Options({
      interval: duration,
      isolated: flag(
        "Whether this host is meant to have no way out: checks then take for no trouble what comes of that.",
      ),
      attempts: attempts(
        "3 unless given; once for a critical check that fails, and where a check runs every five minutes or less often.",
      ),
      checks: Type.Record(
        Type.String({ pattern: "^[a-z0-9_-]{1,128}$", examples: ["disk_space"] }),
        CheckSettings,
        strict,
      ),
    }),
    connectors: Options({
      default: Type.String({ description: "The connector that is used unless another is named." }),
      list: Type.Array(ConnectorSettings),
      discover: flag(
        "Whether to look for keys in the environment and for an Ollama on this machine; `true` unless given.",
      ),
      budgets: Budgets,
    }),
    plugins: Options({ dirs: Type.Array(Type.String()) }),
    updates: Options({
      enabled: flag(
        "Whether packages may be changed at all: `false` leaves them to others. Checks still look at them.",
      ),
      snapshot: flag("Whether an update takes a snapshot unless it is told otherwise."),
      backend: Choice(
        ["auto", "packages"],
        "What keeps snapshots. Both mean `packages`, which works on any file system and needs no reboot; the setting is for older files.",
      ),
      keep_snapshots: Type.Integer({ minimum: 1, description: "How many snapshots are kept; 10 unless given." }),
      no_downgrade: Type.Record(
        Type.String({ minLength: 1 }),
        Type.Unsafe<string | false>({ anyOf: [{ type: "string", minLength: 1 }, { const: false }] }),
        {
          description:
            "By package, whose name may end in `*`: why a rollback must not downgrade it, or `false` for one of the built-in list that may. Built in are databases and the like.",
        },
      ),
      automatic: Strict(
        {
          what: Choice(automaticWhats, "Security updates alone, or all that remove nothing."),
          window: Strict({
            cron: CronText("When it opens: minute, hour, day of the month, month, day of the week, by local time."),
            duration: Type.Optional(duration),
            timezone: Type.Optional(Timezone),
          }),
          ...optional({
            guard: flag("Whether a host that is worse afterwards is rolled back; `true` unless given."),
            reboot: Choice(
              automaticReboots,
              "Whether the host is rebooted where an update needs it; `in_window` only as long as the window is open, else in the next. `never` unless given.",
            ),
            notify: Choice(
              automaticNews,
              "What chat, mail and services are told of: what was installed and what failed (`changes`, unless given), `failures` alone, or nothing.",
            ),
          }),
        },
        {
          description:
            "Updates that the service installs by itself, once in each window, at a moment in its first half that differs by host.",
        },
      ),
      guard_minutes: Type.Number({
        minimum: 0,
        description:
          "How long a guarded update is watched. Unless given: a minute and a half where nothing gets worse, else up to 5 minutes.",
      }),
    }),
    tracing: Options({
      endpoint: text(
        "Address of an OTLP collector that spans are sent to, received ones too: `http://127.0.0.1:4318`. Without it a few of the service's own are kept here.",
      ),
      protocol: Choice(["http", "grpc"], "OTLP over HTTP (unless given) or gRPC."),
      sample: Type.Number({
        minimum: 0,
        maximum: 1,
        description:
          "Which part of the traces is kept; 1 unless given. Of a trace that began elsewhere its headers decide.",
      }),
      receiver: Choice(
        ["auto", "on", "off"],
        "Whether to receive spans over OTLP on loopback: `auto` (unless given) where both ports are free; with `on` a taken port is a fault.",
      ),
      ports: Options(
        {
          grpc: Type.Integer({ ...Port, description: "4317 unless given." }),
          http: Type.Integer({ ...Port, description: "4318 unless given." }),
        },
        { description: "Where spans are received; 0 is any port, which the log names." },
      ),
      keep: Type.String({
        pattern: "^[1-9][0-9]{0,5}(MiB|GiB)$",
        examples: ["64MiB"],
        description: "Room for traces on disk, `64MiB` unless given: the oldest go first.",
      }),
    }),
    audit: Options({
      max_size: Type.String({
        pattern: "^[1-9][0-9]{0,5}(MiB|GiB)$",
        examples: ["64MiB"],
        description: "How large a file of the audit log may become before another is begun; `16MiB` unless given.",
      }),
      keep_files: Type.Integer({
        minimum: 1,
        maximum: 100_000,
        description: "How many files of the audit log there may be; 10 unless given. The oldest go first.",
      }),
    }),
    probes: ProbesSettings,
    alerts: AlertsSettings,
    notifications: NotificationsSettings,
  },
  { title: "Steward settings" },
);
export type Settings = Static<typeof Settings>;
