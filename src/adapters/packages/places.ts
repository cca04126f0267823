/** Where systemd says that it runs, and where the units of transactions write their output. */
export const hostPlaces = { booted: "/run/systemd/system", output: "/run/steward-packages" };
