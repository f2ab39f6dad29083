// The WebAssembly of kernel.ts, instruction by instruction. Parameters are addresses in bytes, then floats.
import {
  add,
  addLanes,
  and,
  atLeast,
  type Code,
  divideLanes,
  get,
  greater,
  increase,
  int,
  load,
  loadSplat,
  loopWhileBelow,
  maximum,
  multiplyLanes,
  rootLanes,
  set,
  splat,
  store,
  subtractLanes,
  type WasmFunction,
  zero,
} from "../../wasm/module.js";

/** For every eight columns: pack them (address 0 on), then four rows of the result at a time in eight registers. */
export function multiplyCode(): WasmFunction {
  const [left, right, result, leftRow, leftColumn, leftSize, width, panelEnd] = [0, 1, 2, 3, 4, 5, 6, 7];
  const [panel, source, column, row, target, a0, leftEnd] = [8, 9, 10, 11, 12, 13, 17];
  const [sum, b0, b1, factor] = [18, 26, 27, 28] as const;
  const rows = [0, 1, 2, 3];
  const pack: Code = [
    ...[...int(0), ...set(panel!), ...get(right!), ...get(column!), ...add, ...set(source!)],
    ...loopWhileBelow(panel!, panelEnd!, [
      ...[...get(panel!), ...get(source!), ...load(), ...store()],
      ...[...get(panel!), ...get(source!), ...load(16), ...store(16)],
      ...increase(source!, get(width!)),
      ...increase(panel!, int(32)),
    ]),
  ];
  const accumulate = (local: number, right: number): Code => [
    ...[...get(local), ...get(factor), ...get(right), ...multiplyLanes, ...addLanes, ...set(local)],
  ];
  const inner: Code = [
    ...[...get(panel!), ...load(), ...set(b0), ...get(panel!), ...load(16), ...set(b1)],
    ...rows.flatMap((r) => [
      ...[...get(a0! + r), ...loadSplat(), ...set(factor), ...increase(a0! + r, get(leftColumn!))],
      ...[...accumulate(sum + 2 * r, b0), ...accumulate(sum + 2 * r + 1, b1)],
    ]),
    ...increase(panel!, int(32)),
  ];
  const block: Code = [
    ...rows.flatMap((r) => [
      ...(r === 0 ? get(row!) : [...get(a0! + r - 1), ...get(leftRow!), ...add]),
      ...set(a0! + r),
      ...[...zero, ...set(sum + 2 * r), ...zero, ...set(sum + 2 * r + 1)],
    ]),
    // the next four rows start one row below the fourth
    ...[...get(a0! + 3), ...get(leftRow!), ...add, ...set(row!)],
    ...[...int(0), ...set(panel!)],
    ...loopWhileBelow(panel!, panelEnd!, inner),
    ...rows.flatMap((r) => [
      ...[...get(target!), ...get(sum + 2 * r), ...store()],
      ...[...get(target!), ...get(sum + 2 * r + 1), ...store(16)],
      ...increase(target!, get(width!)),
    ]),
  ];
  const body: Code = [
    ...[...get(left!), ...get(leftSize!), ...add, ...set(leftEnd!)],
    ...loopWhileBelow(column!, width!, [
      ...pack,
      ...[...get(left!), ...set(row!), ...get(result!), ...get(column!), ...add, ...set(target!)],
      ...loopWhileBelow(row!, leftEnd!, block),
      ...increase(column!, int(32)),
    ]),
  ];
  return { name: "multiply", i32Parameters: 8, f32Parameters: 0, locals: { i32: 10, v128: 11 }, body };
}

export function activateCode(): WasmFunction {
  const [values, end, chance, bias, biasEnd, share, scale, here] = [0, 1, 2, 3, 4, 5, 6, 7] as const;
  const [shares, scales] = [8, 9] as const;
  const body: Code = [
    ...[...get(share), ...splat, ...set(shares), ...get(scale), ...splat, ...set(scales)],
    ...loopWhileBelow(values, end, [
      ...[...get(bias), ...set(here)],
      ...loopWhileBelow(here, biasEnd, [
        ...[...get(values), ...get(values), ...load(), ...get(here), ...load(), ...addLanes],
        ...[...zero, ...maximum, ...get(scales), ...multiplyLanes],
        ...[...get(chance), ...load(), ...get(shares), ...atLeast, ...and, ...store()],
        ...[values, chance, here].flatMap((pointer) => increase(pointer, int(16))),
      ]),
    ]),
  ];
  return { name: "activate", i32Parameters: 5, f32Parameters: 2, locals: { i32: 1, v128: 2 }, body };
}

export function reluSlopeCode(): WasmFunction {
  const [slopes, end, activations, scale, scales] = [0, 1, 2, 3, 4] as const;
  const body: Code = [
    ...[...get(scale), ...splat, ...set(scales)],
    ...loopWhileBelow(slopes, end, [
      ...[...get(slopes), ...get(slopes), ...load(), ...get(scales), ...multiplyLanes],
      ...[...get(activations), ...load(), ...zero, ...greater, ...and, ...store()],
      ...[slopes, activations].flatMap((pointer) => increase(pointer, int(16))),
    ]),
  ];
  return { name: "reluSlope", i32Parameters: 3, f32Parameters: 1, locals: { i32: 0, v128: 1 }, body };
}

export function adamCode(): WasmFunction {
  const [parameters, gradient, first, second, end] = [0, 1, 2, 3, 4] as const;
  const [decay, beta1, rest1, beta2, rest2, stepSize, correction, epsilon] = [5, 6, 7, 8, 9, 10, 11, 12];
  const [slope, moment, factors] = [13, 14, 15] as const;
  const lanes = (parameter: number): Code => get(parameter - decay! + factors);
  const body: Code = [
    ...[decay, beta1, rest1, beta2, rest2, stepSize, correction, epsilon].flatMap((parameter) => [
      ...[...get(parameter!), ...splat, ...set(parameter! - decay! + factors)],
    ]),
    ...loopWhileBelow(parameters, end, [
      ...[...get(gradient), ...load(), ...get(parameters), ...load(), ...lanes(decay!), ...multiplyLanes],
      ...[...addLanes, ...set(slope)],
      ...[...get(first), ...get(first), ...load(), ...lanes(beta1!), ...multiplyLanes],
      ...[...get(slope), ...lanes(rest1!), ...multiplyLanes, ...addLanes, ...store()],
      ...[...get(second), ...load(), ...lanes(beta2!), ...multiplyLanes, ...get(slope), ...get(slope)],
      ...[...multiplyLanes, ...lanes(rest2!), ...multiplyLanes, ...addLanes, ...set(moment)],
      ...[...get(second), ...get(moment), ...store()],
      ...[...get(parameters), ...get(parameters), ...load(), ...get(first), ...load(), ...lanes(stepSize!)],
      ...[...multiplyLanes, ...get(moment), ...rootLanes, ...lanes(correction!), ...divideLanes],
      ...[...lanes(epsilon!), ...addLanes, ...divideLanes, ...subtractLanes, ...store()],
      ...[parameters, gradient, first, second].flatMap((pointer) => increase(pointer, int(16))),
    ]),
  ];
  return { name: "adam", i32Parameters: 5, f32Parameters: 8, locals: { i32: 0, v128: 10 }, body };
}
