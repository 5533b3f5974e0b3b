/** The benchmarks of docs/benchmarks.md, for a machine with a GPU and for one without. */

/**
 * @typedef {object} Asked the options of the benchmarks
 * @property {string} device
 * @property {string} [peer] a Python with torch and torchvision
 * @property {string[]} data the options that name the pictures: `--data pacs --root data`
 */

/**
 * The arguments of `nudge bench`, by the name in the record. The slowest benchmarks come last, because a run can be
 * interrupted. On two cores, a tenth of the pictures and small batches are used.
 *
 * @param {Asked} asked
 * @returns {Map<string, string[]>}
 */
export function benchmarksFor({ device, peer, data }) {
  const beside = peer === undefined ? [] : ["--peer", peer];
  const gpu = device !== "cpu";
  const step = (/** @type {string} */ backbone, /** @type {number} */ batch) =>
    /** @type {[string, string[]]} */ ([
      `step-${backbone}-${batch}`,
      [
        ...["step", "--backbone", backbone, "--batch", String(batch)],
        ...(gpu ? ["--compile", "--repeats", "10"] : []),
        ...beside,
      ],
    ]);
  const size = gpu
    ? ["--precision", "bf16", "--batch", "32", "--steps", "200"]
    : ["--limit", "100", "--batch", "8", "--steps", "20"];
  const train = (/** @type {string} */ backbone, /** @type {string} */ method) =>
    /** @type {[string, string[]]} */ ([
      `train-${backbone}-${method.toLowerCase()}`,
      ["train", ...data, "--backbone", backbone, "--algorithm", method, ...size, ...beside],
    ]);
  /** @type {[string, string[]][]} */
  const first = [
    ["ops", ["ops", ...beside]],
    ["nuclear-norm", ["nuclear-norm", ...beside]],
  ];
  /** @type {[string, string[]][]} */
  const rest = gpu
    ? [
        step("mobilenet_v2", 96),
        step("resnet50", 96),
        train("mobilenet_v2", "ERM"),
        train("mobilenet_v2", "ERM-NU"),
        train("resnet50", "ERM"),
        ["loader", ["loader", ...data, ...beside]],
        [
          "sweep",
          [...["sweep", ...data, "--precision", "bf16", "--runs", "4"], ...["--steps", "501", "--eval-every", "100"]],
        ],
        [
          "sweep-parallel",
          [
            ...["sweep", ...data, "--precision", "bf16", "--runs", "12", "--workers", "3"],
            ...["--steps", "2001", "--eval-every", "100"],
          ],
        ],
        ["runs", ["runs", "--steps", "501,5001", "--runs", "12", "--workers", "8", ...beside]],
        // As many pictures as DomainNet has.
        [
          "data",
          [...["data", "--pictures", "586575", "--distinct", "20000"], ...["--precision", "bf16", "--steps", "200"]],
        ],
        ["algorithms", ["step", "--algorithm", "all", "--batch", "32", "--repeats", "5"]],
      ]
    : [
        step("mobilenet_v2", 8),
        step("resnet50", 8),
        ["loader", ["loader", ...data, ...beside]],
        train("mobilenet_v2", "ERM"),
        train("mobilenet_v2", "ERM-NU"),
        ["algorithms", ["step", "--algorithm", "all", "--threads", "1", "--repeats", "5"]],
        step("mobilenet_v2", 32),
        step("resnet50", 32),
      ];
  const where = gpu ? ["--device", device] : [];
  return new Map([...first, ...rest].map(([name, words]) => [name, [...words, ...where]]));
}
