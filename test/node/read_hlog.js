// Reads an HdrHistogram log on stdin with an independent reader, and prints the histogram of each line as JSON.
"use strict";

const hdr = require("hdr-histogram-js");

const lines = [];
const reader = new hdr.HistogramLogReader(require("fs").readFileSync(0, "utf8"), 64, false);
for (let histogram = reader.nextIntervalHistogram(); histogram; histogram = reader.nextIntervalHistogram()) {
  lines.push({
    tag: histogram.tag,
    start_ms: histogram.startTimeStampMsec,
    end_ms: histogram.endTimeStampMsec,
    count: histogram.totalCount,
    min: histogram.minNonZeroValue,
    max: histogram.maxValue,
    p50: histogram.getValueAtPercentile(50),
    p99: histogram.getValueAtPercentile(99),
    p99_9: histogram.getValueAtPercentile(99.9),
  });
}
process.stdout.write(JSON.stringify(lines) + "\n");
