// What tools print of devices that the test host cannot have, in the form of their manuals.

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

const ataAttribute = (id: number, name: string, value: number) => ({
  id,
  name,
  value: 100,
  worst: 100,
  thresh: 10,
  when_failed: "",
  raw: { value, string: String(value) },
});
const smartctl = { version: [7, 4], argv: ["smartctl"], exit_status: 0 };

/** smartctl(8) 7.4 with --json --all, by device, as it reports of the kinds of disks of several makers. */
export const smartReports = {
  "/dev/sda": {
    json_format_version: [1, 0],
    smartctl,
    device: { name: "/dev/sda", info_name: "/dev/sda [SAT]", type: "sat", protocol: "ATA" },
    model_family: "Seagate Exos X16",
    model_name: "ST16000NM001G-2KK103",
    rotation_rate: 7200,
    smart_support: { available: true, enabled: true },
    smart_status: { passed: true },
    ata_smart_attributes: {
      revision: 10,
      table: [
        ataAttribute(5, "Reallocated_Sector_Ct", 16),
        ataAttribute(9, "Power_On_Hours", 30_000),
        ataAttribute(197, "Current_Pending_Sector", 8),
        ataAttribute(198, "Offline_Uncorrectable", 8),
      ],
    },
    power_on_time: { hours: 30_000 },
    temperature: { current: 41 },
    ata_smart_self_test_log: {
      standard: {
        revision: 1,
        table: [
          { type: { value: 2 }, status: { value: 25, string: "Aborted by host" }, lifetime_hours: 29_990 },
          {
            type: { value: 2, string: "Extended offline" },
            status: { value: 121, string: "Completed: read failure", passed: false },
            lifetime_hours: 29_900,
          },
        ],
        count: 2,
      },
    },
  },
  "/dev/sdb": {
    json_format_version: [1, 0],
    smartctl,
    device: { name: "/dev/sdb", info_name: "/dev/sdb [SAT]", type: "sat", protocol: "ATA" },
    model_name: "Samsung SSD 870 EVO 1TB",
    rotation_rate: 0,
    smart_support: { available: true, enabled: true },
    smart_status: { passed: true },
    endurance_used: { current_percent: 93 },
    ata_smart_attributes: {
      revision: 1,
      // Some firmware has more than the count in the upper bytes.
      table: [ataAttribute(5, "Reallocated_Sector_Ct", 2 ** 32 + 1), ataAttribute(177, "Wear_Leveling_Count", 600)],
    },
    power_on_time: { hours: 20_000 },
    temperature: { current: 33 },
  },
  "/dev/nvme0": {
    json_format_version: [1, 0],
    smartctl: { ...smartctl, exit_status: 8 },
    device: { name: "/dev/nvme0", info_name: "/dev/nvme0", type: "nvme", protocol: "NVMe" },
    model_name: "WDC PC SN730 SDBQNTY-512G",
    smart_support: { available: true, enabled: true },
    smart_status: { passed: false, nvme: { value: 4 } },
    nvme_smart_health_information_log: {
      critical_warning: 4,
      temperature: 45,
      available_spare: 100,
      available_spare_threshold: 10,
      percentage_used: 12,
      power_on_hours: 9000,
      media_errors: 3,
    },
    nvme_self_test_log: {
      table: [
        {
          self_test_code: { value: 1, string: "Short" },
          self_test_result: { value: 0, string: "Completed without error" },
          power_on_hours: 8000,
        },
      ],
    },
    temperature: { current: 45 },
    power_on_time: { hours: 9000 },
  },
  "/dev/sdc": {
    json_format_version: [1, 0],
    smartctl,
    device: { name: "/dev/sdc", info_name: "/dev/sdc", type: "scsi", protocol: "SCSI" },
    scsi_model_name: "HGST HUS726040AL5210",
    rotation_rate: 7200,
    smart_support: { available: true, enabled: true },
    smart_status: { passed: true },
    temperature: { current: 36, drive_trip: 85 },
    power_on_time: { hours: 50_000 },
    scsi_grown_defect_list: 0,
    scsi_error_counter_log: {
      read: { total_uncorrected_errors: 0 },
      write: { total_uncorrected_errors: 0 },
      verify: { total_uncorrected_errors: 0 },
    },
  },
  // A disk of a virtual machine.
  "/dev/sdd": {
    json_format_version: [1, 0],
    smartctl: { ...smartctl, exit_status: 4 },
    device: { name: "/dev/sdd", info_name: "/dev/sdd", type: "scsi", protocol: "SCSI" },
    scsi_model_name: "QEMU HARDDISK",
    smart_support: { available: false },
  },
} as const;

/** smartctl(8) with --json --scan. */
export const smartScan = JSON.stringify({
  json_format_version: [1, 0],
  smartctl,
  devices: Object.values(smartReports).map(({ device }) => device),
});

/** One line of `GET /containers/json` of the Docker Engine API 1.47. */
export const containerListed = (given: object = {}) => ({
  Id: "0".repeat(64),
  Names: ["/web"],
  Image: "registry.example.org/web:1",
  ImageID: `sha256:${"1".repeat(64)}`,
  Command: "/usr/bin/web",
  Created: 1_767_200_000,
  Ports: [],
  Labels: {},
  State: "running",
  Status: "Up 2 hours",
  HostConfig: { NetworkMode: "bridge" },
  NetworkSettings: { Networks: {} },
  Mounts: [],
  ...given,
});

/** `GET /containers/{id}/json` of the Docker Engine API 1.47, of a container that ended an hour after it was started. */
export const containerInspected = ({
  State = {},
  ...given
}: {
  readonly State?: object;
  readonly [key: string]: unknown;
} = {}) => ({
  Id: "0".repeat(64),
  Created: "2025-12-31T23:59:59.123456789Z",
  Path: "/usr/bin/web",
  Args: [],
  State: {
    Status: "exited",
    Running: false,
    Paused: false,
    Restarting: false,
    OOMKilled: false,
    Dead: false,
    Pid: 0,
    ExitCode: 0,
    Error: "",
    StartedAt: "2026-01-01T00:00:00Z",
    FinishedAt: "2026-01-01T01:00:00Z",
    ...State,
  },
  Image: `sha256:${"1".repeat(64)}`,
  Name: "/web",
  RestartCount: 0,
  Driver: "overlay2",
  Platform: "linux",
  HostConfig: { RestartPolicy: { Name: "no", MaximumRetryCount: 0 } },
  ...given,
});
