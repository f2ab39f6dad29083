// `npm run bench:train`: training on 6,894 rows of 576 features (50 components, two outputs, ten seeds)
// against the same recipe in scikit-learn and PyTorch, on the same threads, in turn. Needs the packages of
// train-requirements.txt.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { type FitInput, fitHead, trainingData } from "../../src/train/fit/fit.js";
import { createSeedWorkers } from "../../src/train/fit/fit-workers.js";
import { createRandom } from "../../src/train/numeric/random.js";
import { packagePath } from "../support/fixtures.js";
import { summarize } from "../support/statistics.js";

interface Fit {
  readonly seconds: number;
  /** of all seeds together */
  readonly epochs: number;
  /** validation losses of the members kept, best first */
  readonly losses: readonly number[];
}

const rounds = 5;
const pcaSize = 50;
const [rows, columns, factors, outputs] = [6_894, 576, 80, 2];
const threads = availableParallelism();
const folder = packagePath(".bench");

/** Rows of correlated features, as hidden states are, with labels that the strongest factors tell in part. */
function makeInput(): FitInput {
  const random = createRandom(7);
  const loadings = Float32Array.from({ length: factors * columns }, () => random.normal());
  const data = new Float32Array(rows * columns);
  const labels = Array.from({ length: rows }, (_, row) => {
    const hidden = Float64Array.from({ length: factors }, (_, factor) => random.normal() / (1 + factor / 8));
    for (let column = 0; column < columns; column++) {
      let sum = 0.3 * random.normal();
      for (let factor = 0; factor < factors; factor++)
        sum += hidden[factor]! * loadings[factor * columns + column]!;
      data[row * columns + column] = sum;
    }
    const easy = 0.8 + 0.5 * hidden[0]! - 0.4 * hidden[1]! * hidden[2]!;
    const labels = [easy, easy + 1].map((logit) => random.uniform() < 1 / (1 + Math.exp(-logit)));
    return { labels: labels.map(Number), samples: [1, 1], weight: 1 };
  });
  return {
    view: { layers: [8], pooling: "mean", hiddenSize: columns },
    table: { rows, columns, data },
    outputNames: ["weak", "strong"],
    labels,
  };
}

async function fitHere(input: FitInput): Promise<Fit> {
  const started = performance.now();
  const { facts } = await fitHead(input, { pcaSize, trainSeeds: createSeedWorkers(threads) });
  const seconds = (performance.now() - started) / 1000;
  const epochs = facts.members.reduce((sum, member) => sum + member.epochs, 0);
  const losses = facts.members.filter(({ kept }) => kept).map(({ validationLoss }) => validationLoss);
  return { seconds, epochs, losses };
}

function startReference(input: FitInput): { child: ChildProcess; fit(): Promise<Fit> } {
  const { target, weight } = trainingData(input, new Float32Array(0));
  for (const [name, values] of Object.entries({ features: input.table.data, target, weight }))
    writeFileSync(`${folder}/${name}.f32`, values);
  const sizes = [rows, columns, outputs, pcaSize, threads].map(String);
  const python = packagePath(".train-bench/bin/python");
  const child = spawn(python, [packagePath("test/bench/train_reference.py"), folder, ...sizes], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  return {
    child,
    async fit() {
      child.stdin.write("fit\n");
      const ended = once(child, "exit").then(() => {
        throw new Error("the Python process ended");
      });
      const [line] = await Promise.race([once(lines, "line"), ended]);
      return JSON.parse(line) as Fit;
    },
  };
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function describe(name: string, fits: readonly Fit[]): void {
  const { p50, min, max } = summarize(fits.map(({ seconds }) => seconds));
  const perEpoch = summarize(fits.map(({ seconds, epochs }) => (1000 * seconds) / epochs));
  const { losses, epochs } = fits[0]!;
  const mean = losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
  say(
    `${name}: ${p50.toFixed(1)} s (${min.toFixed(1)} to ${max.toFixed(1)}), ${epochs} epochs of ${perEpoch.p50.toFixed(1)} ms, mean validation loss kept ${mean.toFixed(4)}`,
  );
}

mkdirSync(folder, { recursive: true });
const input = makeInput();
const reference = startReference(input);
const [here, there]: [Fit[], Fit[]] = [[], []];
// the first of each warms up
for (let round = 0; round <= rounds; round++) {
  here.push(await fitHere(input));
  there.push(await reference.fit());
}
reference.child.kill();
describe("prefill-judge", here.slice(1));
describe("scikit-learn + PyTorch", there.slice(1));
const ratio = summarize(here.slice(1).map((fit, round) => fit.seconds / there[round + 1]!.seconds));
say(`ratio: ${ratio.p50.toFixed(2)} (${ratio.min.toFixed(2)} to ${ratio.max.toFixed(2)}); wanted at most 2`);
