// The trunk of an llm-router checkpoint: dense layers with ReLU, one state dict for each member.
import type { Member } from "../../../head/weights.js";
import { type Fields, sizeOf } from "../pickle/fields.js";
import type { FloatReader } from "../pickle/float-reader.js";
import { describe } from "../pickle/pickle-values.js";
import { torchRefusal } from "../torch-refusal.js";
import { memberStates } from "./member-states.js";

export interface TrunkConfig {
  readonly place: string;
  /** input, hidden layers, outputs */
  readonly sizes: readonly number[];
  /** the blocks of all targets side by side, or the block of the first target alone */
  readonly layout: "per_target" | "shared_once";
}

export function readTrunkConfig(config: Fields, version: 2 | 3, outputCount: number): TrunkConfig {
  const inputSize = config.size("d_in");
  const hidden = config.list("hidden").map((size) => sizeOf(size, config.placeOf("hidden")));
  const outputs = config.size("n_outputs");
  if (outputs !== outputCount) {
    throw config.refusal("n_outputs", `${outputs}`, `${outputCount}, as many as model_names`);
  }
  const layout = config.has("feature_layout") ? config.text("feature_layout") : "per_target";
  if (layout !== "per_target" && !(layout === "shared_once" && version === 3)) {
    throw config.refusal("feature_layout", describe(layout), "per_target, or shared_once in version 3");
  }
  if (config.has("feature_width") && config.size("feature_width") !== inputSize) {
    throw config.refusal("feature_width", "another size than d_in", `${inputSize}`);
  }
  config.end();
  return { place: config.place, sizes: [inputSize, ...hidden, outputs], layout };
}

export function readMembers(root: Fields, trunk: TrunkConfig, floats: FloatReader): Member[] {
  return memberStates(root, "shared_trunk").map((state) => {
    const names = linearNames(state, trunk.sizes.length - 1);
    const layers = names.map((name, layer) =>
      floats.readLinear(state, name, trunk.sizes[layer]!, trunk.sizes[layer + 1]!),
    );
    state.end();
    return { kind: "shared", layers };
  });
}

/** `net.0`, `net.3`, `net.6` …: a ReLU follows each dense layer, and a dropout follows the first two. */
function linearNames(state: Fields, count: number): string[] {
  const positions = state.names
    .map((name) => /^net\.(0|[1-9]\d{0,3})\.weight$/.exec(String(name))?.[1])
    .filter((position) => position !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
  const follows = positions.every((position, index) => {
    const distance = position - (positions[index - 1] ?? 0);
    return index === 0 ? position === 0 : distance === 2 || distance === 3;
  });
  if (positions.length === count && follows) return positions.map((position) => `net.${position}`);
  throw torchRefusal(state.place, {
    found: `dense layers at net.[${positions.slice(0, 20)}]`,
    wanted: `${count} from 0 on with ReLU and dropout between`,
  });
}
