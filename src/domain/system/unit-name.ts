import { serviceUnitName } from "#contract/system.ts";
import { invalid } from "#domain/common/error.ts";

/** A service name (systemd.unit(5)) without those that begin with a dash, which a command would take for an option. */
const serviceName = /^[A-Za-z0-9:_\\][A-Za-z0-9:_.\\@-]*\.service$/;

const maxNameLength = 255;

/** @returns the canonical name. @throws DomainError VALIDATION_ERROR. */
export function parseServiceName(text: string): string {
  const name = serviceUnitName(text);
  if (name.length > maxNameLength) throw invalid("name", `longer than ${maxNameLength} characters`);
  if (!serviceName.test(name)) throw invalid("name", "not the name of a service unit");
  if (name.endsWith("@.service")) {
    throw invalid(
      "name",
      "a template needs an instance",
      `cannot use ${name}: a template needs an instance (name@instance.service)`,
    );
  }
  return name;
}
