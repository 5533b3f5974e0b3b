/** The metrics of the service, in Prometheus' text format. */

/** The upper bounds of the latency buckets, in seconds from the arrival of a picture to its response. */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class Metrics {
  private readonly statuses = new Map<number, number>();
  private readonly counts = BUCKETS.map(() => 0);
  private seconds = 0;
  private answered = 0;
  private unknown = 0;

  /** Counts a prediction request with this status. */
  request(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  /** Counts a predicted picture. */
  predicted(seconds: number, isUnknown: boolean): void {
    this.answered++;
    this.seconds += seconds;
    if (isUnknown) this.unknown++;
    const bucket = BUCKETS.findIndex((most) => seconds <= most);
    if (bucket >= 0) this.counts[bucket]++;
  }

  /** All metrics, together with those of other parts. */
  text(gauges: Readonly<Record<string, number>>): string {
    const lines = [
      "# HELP nudge_requests_total Requests to predict, by HTTP status.",
      "# TYPE nudge_requests_total counter",
      ...[...this.statuses].sort().map(([status, count]) => `nudge_requests_total{status="${status}"} ${count}`),
      "# HELP nudge_unknown_total Pictures marked as unknown.",
      "# TYPE nudge_unknown_total counter",
      `nudge_unknown_total ${this.unknown}`,
      "# HELP nudge_predict_seconds Time from the arrival of a picture to its response.",
      "# TYPE nudge_predict_seconds histogram",
      ...BUCKETS.map((most, i) => {
        const count = this.counts.slice(0, i + 1).reduce((sum, each) => sum + each, 0);
        return `nudge_predict_seconds_bucket{le="${most}"} ${count}`;
      }),
      `nudge_predict_seconds_bucket{le="+Inf"} ${this.answered}`,
      `nudge_predict_seconds_sum ${this.seconds}`,
      `nudge_predict_seconds_count ${this.answered}`,
      ...Object.entries(gauges).flatMap(([name, value]) => [
        `# TYPE ${name} ${name.endsWith("_total") ? "counter" : "gauge"}`,
        `${name} ${value}`,
      ]),
    ];
    return `${lines.join("\n")}\n`;
  }
}
