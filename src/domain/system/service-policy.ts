import { serviceUnitName } from "#contract/system.ts";
import type { PolicyRefusal } from "#domain/ports/units.ts";

/** Units that Steward restarts only if the settings allow it. Names are those of services, without `.service`. */
export interface ProtectedUnits {
  /** The effect of a restart; the end of "it …". */
  readonly reason: string;
  /** `*` stands for any characters. */
  readonly names: readonly string[];
  /** Whether a request that confirms it is permitted: it hands out nothing, the host continues, and a reboot undoes it. */
  readonly isConfirmable?: true;
  /** Names that match but are not protected, and why a restart is safe. */
  readonly except?: readonly { readonly reason: string; readonly names: readonly string[] }[];
}

/** Units that Steward starts for single tasks. */
const ownTasks = ["steward-task*", "steward-packages-*", "steward-plugin-*"];
const ownReboot = "steward-reboot";

/**
 * Protects what gives root access or ends the host. `deploy/systemd/50-steward.rules` and `docs/reference/services.md` are generated
 * from this table.
 */
export const protectedUnits: readonly ProtectedUnits[] = [
  {
    reason: "opens a shell of root at the console",
    names: ["debug-shell", "console-shell", "emergency", "rescue", "initrd-*", "dracut-*"],
  },
  {
    reason: "carries out a task of Steward, most of them as root",
    names: ownTasks,
  },
  {
    reason: "ends the host or boots it again",
    names: [
      ...["halt", "poweroff", "reboot", "single", "kexec", "system-update-cleanup", ownReboot],
      ...["systemd-halt", "systemd-poweroff", "systemd-reboot", "systemd-kexec", "systemd-soft-reboot"],
      ...["*-offline-update", "*-offline-transaction*", "dnf-system-upgrade*"],
    ],
  },
  {
    reason:
      "takes the system bus from every program that uses it; logins and others do not come back to it before a reboot",
    names: ["dbus", "dbus-broker", "dbus-daemon"],
    isConfirmable: true,
  },
  { reason: "ends the sessions of a user", names: ["user@*", "user-runtime-dir@*"] },
  {
    reason: "holds the sessions and devices of those who are logged in, so that graphical sessions end with it",
    names: ["systemd-logind"],
    isConfirmable: true,
  },
  {
    reason:
      "is a part of systemd that the host starts when its turn comes, and of which some end the host, erase it or open it to others",
    names: ["systemd-*"],
    except: [
      {
        reason: "systemd keeps its sockets, and the streams of all services, while it restarts",
        names: ["systemd-journald", "systemd-udevd"],
      },
      {
        reason: "continues with the entries where it was",
        names: ["systemd-journal-remote", "systemd-journal-upload"],
      },
      {
        reason: "leaves devices, addresses and routes as they are until it has its settings again",
        names: ["systemd-networkd"],
      },
      { reason: "waits for the network, and ends", names: ["systemd-networkd-wait-online"] },
      { reason: "loses its cache, and answers again at once", names: ["systemd-resolved"] },
      { reason: "asks its servers for the time again", names: ["systemd-timesyncd"] },
      {
        reason: "is started by a question on the bus, and ends when there is none",
        names: ["systemd-hostnamed", "systemd-localed", "systemd-timedated"],
      },
      { reason: "keeps its list in `/run`; the containers run on", names: ["systemd-machined"] },
      { reason: "ends and starts one container, which has to run or to have failed", names: ["systemd-nspawn@*"] },
      { reason: "watches memory, and keeps nothing", names: ["systemd-oomd"] },
      {
        reason: "applies the files of the host again",
        names: ["systemd-modules-load", "systemd-sysctl", "systemd-binfmt"],
      },
      { reason: "removes old temporary files, as its timer does each day", names: ["systemd-tmpfiles-clean"] },
    ],
  },
];

/** The `ActiveState`s in which an instance of a template may be restarted: root has started it. */
export const instanceStates = ["active", "reloading", "refreshing", "activating", "deactivating", "failed"] as const;

/** `services` of the settings: names or patterns with `*`; a name without a suffix is that of a service. */
export interface ServiceLists {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

export interface PolicySubject {
  readonly name: string;
  /** All its names; aliases count as the unit itself. */
  readonly names: readonly string[];
  readonly activeState: string;
}

export type ServicePolicy = ReturnType<typeof createServicePolicy>;

const source = (pattern: string): string =>
  pattern
    .split("*")
    .map((part) => part.replaceAll(/[.\\+?^${}()|[\]]/g, String.raw`\$&`))
    .join(".*");
const anyOf = (patterns: readonly string[]): string => patterns.map(source).join("|");
const suffix = String.raw`\.service$`;

export const permittedNames = ({ except = [] }: ProtectedUnits): readonly string[] =>
  except.flatMap(({ names }) => names);

/** A regular expression for any JavaScript engine that matches the protected names of an entry. */
export function protectedExpression(entry: ProtectedUnits): string {
  const permitted = permittedNames(entry);
  const start = permitted.length === 0 ? "^" : `^(?!(${anyOf(permitted)})${suffix})`;
  return `${start}(${anyOf(entry.names)})${suffix}`;
}

const ownTaskExpression = new RegExp(`^(${anyOf([...ownTasks, ownReboot])})${suffix}`);

/** Whether Steward starts the unit for a single task: it ends by itself. */
export const isOwnTask = (unit: string): boolean => ownTaskExpression.test(unit);

const compiled = protectedUnits.map((entry) => ({ expression: new RegExp(protectedExpression(entry)), entry }));

const isInstance = (name: string): boolean => /@[^@]*\.service$/.test(name);
const hasPattern = (entry: string): boolean => entry.includes("*");
const matches = (entry: string, name: string): boolean =>
  hasPattern(entry) ? new RegExp(`^(${source(serviceUnitName(entry))})$`).test(name) : serviceUnitName(entry) === name;

/**
 * Names take precedence over patterns, and `deny` over `allow`: `{ deny: ["*"], allow: [nginx] }` permits only nginx. A unit is denied
 * by any of its names, and allowed by its own.
 */
export function createServicePolicy({ allow = [], deny = [] }: ServiceLists = {}) {
  const said = ({ name, names }: PolicySubject): PolicyRefusal | "allowed" | undefined => {
    for (const isPattern of [false, true]) {
      const find = (list: readonly string[], among: readonly string[]): string | undefined =>
        list.find((entry) => hasPattern(entry) === isPattern && among.some((each) => matches(entry, each)));
      const denied = find(deny, names);
      if (denied !== undefined)
        return {
          reason: `the setting services.deny has ${JSON.stringify(denied)}`,
          setting: "services.deny",
          remedy: "change services.deny in the settings to permit this",
        };
      if (find(allow, [name]) !== undefined) return "allowed";
    }
    return undefined;
  };

  return {
    /** @returns undefined for a unit that may be restarted. */
    refusal: (unit: PolicySubject): PolicyRefusal | undefined => {
      const { name, activeState } = unit;
      const names = [name, ...unit.names.filter((each) => each !== name)];
      const decided = said({ ...unit, names });
      if (decided === "allowed") return undefined;
      if (decided !== undefined) return decided;
      const remedy = `add ${name} to services.allow in the settings to permit this`;
      const protectedAs = names.flatMap((each) => {
        const found = compiled.find(({ expression }) => expression.test(each));
        return found === undefined ? [] : { each, ...found.entry };
      });
      // By any of its names it may be more than what a confirmation permits.
      const [worst] = protectedAs.toSorted(
        (a, b) => Number(a.isConfirmable ?? false) - Number(b.isConfirmable ?? false),
      );
      if (worst !== undefined) {
        const { each, reason: why, isConfirmable } = worst;
        const reason = `Steward protects ${each}, which ${why}`;
        return { reason, setting: "services.allow", remedy, ...(isConfirmable && { isConfirmable }) };
      }
      if (!isInstance(name) || instanceStates.some((state) => state === activeState)) return undefined;
      return {
        reason: `Steward restarts an instance of a template only while it runs or has failed, and this one is ${activeState}`,
        setting: "services.allow",
        remedy: `start it with systemctl, or ${remedy}`,
      };
    },
  };
}

/** Without settings, as in the polkit rule of the package. */
export const defaultServicePolicy = createServicePolicy();
