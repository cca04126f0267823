import type { Plan } from "#contract/operation.ts";
import type { ServiceFileChange } from "#contract/system.ts";
import { DomainError } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import {
  type Confirmation,
  type FoundUnit,
  notInstallable,
  refusalOf,
  type Unit,
  type UnitFileVerb,
  type UnitObstacle,
} from "#domain/ports/units.ts";
import {
  confirmationOf,
  dangerOf,
  onHost,
  parseServiceName,
  refused,
  type ServiceInput,
  type ServicePorts,
  toServiceEntry,
} from "./service.ts";

const isEnabled = ({ unitFileState }: Unit): boolean => /^enabled(-runtime)?$/.test(unitFileState);
const isMasked = ({ unitFileState, loadState }: Unit): boolean =>
  /^masked(-runtime)?$/.test(unitFileState) || loadState === "masked";

const isLinked = ({ unitFileState }: Unit): boolean => /^linked(-runtime)?$/.test(unitFileState);

/** Files that systemd makes itself, or that it cannot read. */
const unchangeable = ["transient", "generated", "bad"];

/** Where administrators put unit files, and systemd the links that mask units. */
const adminDirectory = "/etc/systemd/system";

/** Why systemd would not mask it, whose link to /dev/null would be at this very path: it puts none in the place of a file or link. */
function maskObstacle({ name, file, linkedFile }: FoundUnit): UnitObstacle | undefined {
  if (file !== `${adminDirectory}/${name}`) return undefined;
  if (linkedFile !== "")
    return {
      reason: `its unit file is ${file}, a link to ${linkedFile}, where the link that masks it would be`,
      remedy: `stop and disable it instead, which removes that link; if systemd then still has a file of it elsewhere, mask it`,
    };
  return {
    reason: `its unit file is ${file}, where the link that masks it would be`,
    remedy: `stop and disable it instead, or move the file to /usr/local/lib/systemd/system, run systemctl daemon-reload and mask it then`,
  };
}

/** Why the file of a unit cannot be changed so. */
function unitFileObstacle(
  verb: UnitFileVerb,
  unit: FoundUnit,
  ownUnit: string | undefined,
  confirmation: Confirmation,
): UnitObstacle | undefined {
  const { name, unitFileState } = unit;
  const refusal = refusalOf(unit, confirmation, verb);
  if (refusal !== undefined) return refusal;
  if ((verb === "disable" || verb === "mask") && name === ownUnit)
    return {
      reason: "it is this service, and nothing could start it again over this API",
      remedy: `systemctl ${verb} ${name} does it on the host`,
    };
  if (verb !== "unmask" && unchangeable.includes(unitFileState))
    return { reason: `its unit file is ${unitFileState}, so it cannot be changed` };
  const maskRefusal = verb === "mask" && !isMasked(unit) ? maskObstacle(unit) : undefined;
  if (maskRefusal !== undefined) return maskRefusal;
  if (verb === "enable" && isMasked(unit)) return { reason: "unit is masked", remedy: "unmask it first" };
  if (verb === "enable" && ["static", "indirect", ""].includes(unitFileState)) return notInstallable;
  return undefined;
}

/** Why there is nothing to change; undefined where there is. */
function isSoAlready(verb: UnitFileVerb, unit: Unit): string | undefined {
  const { name, unitFileState } = unit;
  switch (verb) {
    case "enable":
      // Not one that is so until the next boot.
      return unitFileState === "enabled" ? `${name} is enabled already` : undefined;
    case "disable":
      return isEnabled(unit) || isLinked(unit)
        ? undefined
        : `${name} is not enabled (${unitFileState || "without a unit file"})`;
    case "mask":
      return isMasked(unit) && unitFileState !== "masked-runtime" ? `${name} is masked already` : undefined;
    case "unmask":
      return isMasked(unit) ? undefined : `${name} is not masked`;
  }
}

const effect: Readonly<Record<UnitFileVerb, string>> = {
  enable: "so that it starts at boot",
  disable: "so that it does not start at boot",
  mask: "so that nothing can start it",
  unmask: "so that it can be started again",
};

const done: Readonly<Record<UnitFileVerb, string>> = {
  enable: "enabled",
  disable: "disabled",
  mask: "masked",
  unmask: "unmasked",
};

/** systemd takes such a link for one that enables the unit (systemctl(1), `disable`). */
const losesLink = (verb: UnitFileVerb, { linkedFile, file }: FoundUnit): boolean =>
  verb === "disable" && linkedFile !== "" && /^\/(etc|run)\//.test(file);

function unitFilePlan(verb: UnitFileVerb, unit: FoundUnit): Plan {
  const reason = isSoAlready(verb, unit);
  if (reason !== undefined) return createPlan([], { units: [], reason });
  const link = losesLink(verb, unit)
    ? [
        `remove its link ${unit.file} to ${unit.linkedFile} too, as systemctl does: with no other file of it systemd no longer knows it`,
      ]
    : [];
  return createPlan([`${verb} ${unit.name}, ${effect[verb]}`, ...link, "have systemd read its units again"], {
    units: [unit.name],
    ...dangerOf(unit),
  });
}

/** The result for people, with what it did not change. */
function unitFileMessage(verb: UnitFileVerb, before: FoundUnit, { name, activeState, loadState }: Unit): string {
  const isActive = activeState !== "inactive" && activeState !== "failed";
  const left = {
    enable: isActive ? "" : "; it is not started by that",
    disable: isActive ? "; it still runs" : "",
    mask: isActive ? "; it still runs" : "",
    unmask: "",
  }[verb];
  const isUnknown = losesLink(verb, before) && loadState === "not-found";
  const gone = `; systemd no longer knows it, since ${before.file} was its only link (systemctl link ${before.linkedFile} makes it known again)`;
  return `${name} ${done[verb]}${left}${isUnknown ? gone : ""}`;
}

/** Enables, disables, masks and unmasks services. */
export function createUnitFileChanges({ units, ownUnit }: ServicePorts) {
  return async (verb: UnitFileVerb, input: ServiceInput): Promise<ServiceFileChange | Plan> => {
    const { params, query } = input;
    const confirmation = confirmationOf(input);
    const name = parseServiceName(params.name);
    const unit = await onHost(`${verb} ${name}`, () => units.read(name));
    const doing = `${verb} ${unit.name}`;
    if (unit.loadState === "not-found") throw new DomainError("NOT_FOUND", `cannot ${doing}: no such unit`);
    const obstacle = unitFileObstacle(verb, unit, ownUnit, confirmation);
    if (obstacle !== undefined) throw refused(doing, obstacle);
    if (query.dry_run) return unitFilePlan(verb, unit);
    const reason = isSoAlready(verb, unit);
    if (reason !== undefined) return { ...toServiceEntry(unit), success: true, message: reason, changes: [] };
    return onHost(doing, async () => {
      const changes = await units[verb](unit, confirmation);
      const after = await units.read(unit.name);
      const message = unitFileMessage(verb, unit, after);
      return { ...toServiceEntry(after), success: true, message, changes: changes.map((each) => ({ ...each })) };
    });
  };
}
