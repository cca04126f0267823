/** The command could not be run to its end: not found, out of time, cancelled. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
}

/**
 * The whole environment of every command: nothing of the caller's leaks in, so neither its PATH nor its
 * locale decides what runs or how it answers.
 */
export const environment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8", HOME: "/nonexistent" };
