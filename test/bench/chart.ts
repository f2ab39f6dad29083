// The ratios of a run as one SVG: a bar for each, its spread, and the target as a line across it. Pure.

import type { Summary } from "../support/statistics.js";
import type { BenchResult } from "./report.js";

interface Bar {
  readonly label: string;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

const width = 760;
const labelWidth = 330;
const rowHeight = 26;
const top = 56;
const right = 70;

/**
 * What a request costs over the bare run (less is better), and what crowds get over bare batches (more is
 * better).
 */
export function renderChart({ machine, latency, throughput, cached }: Omit<BenchResult, "verdicts">): string {
  const bars: Bar[] = [
    ...latency.map(({ judge, mix, floorMs, judgedMs }) => ({
      label: `${judge}, ${mix}: one client's time / bare run's`,
      value: judgedMs.p50 / floorMs.p50,
      low: judgedMs.roundMedians.min / floorMs.roundMedians.min,
      high: judgedMs.roundMedians.max / floorMs.roundMedians.max,
    })),
    ...throughput.map(({ judge, mix, ratio }) => bar(`${judge}, ${mix}: 64 clients / bare batches`, ratio)),
    ...throughput.map(({ judge, mix, processesRatio }) =>
      bar(`${judge}, ${mix}: 64 clients, processes / bare`, processesRatio),
    ),
    ...throughput.map(({ judge, mix, predictedRatio }) =>
      bar(`${judge}, ${mix}: evaluate / bare batches`, predictedRatio),
    ),
    ...cached.map(({ judge, ratio }) => bar(`${judge}: cached answers / bare Hono`, ratio)),
  ];
  const longest = Math.max(1, ...bars.map(({ value, high }) => Math.max(value, high)));
  const x = (value: number) => labelWidth + ((width - labelWidth - right) * value) / longest;
  const height = top + bars.length * rowHeight + 16;
  const rows = bars.map(({ label, value, low, high }, index) => {
    const y = top + index * rowHeight;
    const middle = y + rowHeight / 2;
    return [
      `<text x="${labelWidth - 8}" y="${middle + 4}" text-anchor="end">${label}</text>`,
      `<rect x="${labelWidth}" y="${y + 5}" width="${round(x(value) - labelWidth)}" height="${rowHeight - 10}" fill="#4c78a8"/>`,
      `<path d="M${round(x(low))} ${middle}H${round(x(high))}" stroke="#222"/>`,
      `<text x="${round(Math.max(x(value), x(high)) + 6)}" y="${middle + 4}">${value.toFixed(2)}</text>`,
    ].join("");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="16" y="22" font-size="15">Ratios of one run; the line is the bare run or handler, the whisker the range of the rounds</text>`,
    `<text x="16" y="40" fill="#555">${escaped(machine.cpu)}, ${machine.threads} threads, Node ${machine.node}</text>`,
    ...rows,
    `<path d="M${round(x(1))} ${top}V${height - 12}" stroke="#e45756" stroke-dasharray="4 3"/>`,
    "</svg>\n",
  ].join("\n");
}

function bar(label: string, { p50, min, max }: Summary): Bar {
  return { label, value: p50, low: min, high: max };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
