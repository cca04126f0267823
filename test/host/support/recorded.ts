// What tools print of devices that the test host cannot have, in the form of their manuals.

/** lvs(8) of LVM 2.03 for one pool. */
export const thinPoolReport = ({
  data,
  metadata,
  health = "",
}: Record<"data" | "metadata", string> & { health?: string }) =>
  JSON.stringify({
    report: [
      {
        lv: [
          {
            vg_name: "vg0",
            lv_name: "pool",
            lv_size: "100000000000",
            data_percent: data,
            metadata_percent: metadata,
            lv_health_status: health,
          },
        ],
      },
    ],
    log: [],
  });

const vdev = (name: string, given: object = {}) => ({
  name,
  vdev_type: "disk",
  state: "ONLINE",
  read_errors: 0,
  write_errors: 0,
  checksum_errors: 0,
  ...given,
});

/** zpool-status(8) of OpenZFS 2.3 with --json --json-int: a mirror that has lost a disk, and whose other disk has errors. */
export const zpoolStatus = JSON.stringify({
  output_version: { command: "zpool status", vers_major: 0, vers_minor: 1 },
  pools: {
    tank: {
      name: "tank",
      state: "DEGRADED",
      error_count: 0,
      scan_stats: {
        function: "SCRUB",
        state: "FINISHED",
        start_time: 1_767_240_000,
        end_time: 1_767_250_000,
        errors: 0,
      },
      vdevs: {
        tank: {
          ...vdev("tank", { vdev_type: "root", state: "DEGRADED" }),
          vdevs: {
            "mirror-0": {
              ...vdev("mirror-0", { vdev_type: "mirror", state: "DEGRADED", checksum_errors: 2 }),
              vdevs: {
                sda: vdev("sda", { read_errors: 4, checksum_errors: 2 }),
                sdb: vdev("sdb", { state: "UNAVAIL" }),
              },
            },
          },
        },
      },
    },
  },
});
