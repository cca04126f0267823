/** Packages whose old version runs until the next boot. */
const untilReboot =
  /^(linux(-lts|-zen|-hardened)?$|linux-(image|modules|headers)|kernel|intel-microcode|amd64-microcode|libc6$|glibc|libc-bin$|systemd(-sysv)?$|dbus(-daemon|-broker)?$|firmware-|grub-)/;

export const requireReboot = (changed: readonly { readonly name: string }[]): boolean =>
  changed.some(({ name }) => untilReboot.test(name));
