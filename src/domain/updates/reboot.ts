/** Packages whose old version goes on running until the host boots again. */
const untilReboot =
  /^(linux-(image|modules|headers)|kernel|intel-microcode|amd64-microcode|libc6$|glibc|libc-bin$|systemd(-sysv)?$|dbus(-daemon|-broker)?$|firmware-|grub-)/;

/** Whether a change of these packages is complete only after a reboot, as far as their names tell. */
export const requireReboot = (changed: readonly { readonly name: string }[]): boolean =>
  changed.some(({ name }) => untilReboot.test(name));
