import { serviceUnitName } from "#contract/system.ts";
import { invalid } from "#domain/common/error.ts";

/**
 * A service unit name as systemd allows it (systemd.unit(5)), less those that begin with a dash:
 * no service is called so, and a command would take it for an option.
 */
const serviceName = /^[A-Za-z0-9:_\\][A-Za-z0-9:_.\\@-]*\.service$/;

const maxNameLength = 255;

/**
 * The canonical name, checked.
 * @throws DomainError VALIDATION_ERROR for a name that no service can have.
 */
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
