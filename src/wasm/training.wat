;; The operations of a network in training: train/numeric/kernel.ts. All i32 parameters are addresses or lengths in bytes.
;; Every loop runs at least once.
(module
  (import "kernel" "memory" (memory 1))

  ;; result = left · right. For every eight columns of `right`: pack them from address 0 on, then take four rows of the
  ;; result at a time in eight registers.
  (func (export "multiply")
    (param $left i32) (param $right i32) (param $result i32)
    (param $leftRow i32) (param $leftColumn i32) (param $leftSize i32) (param $width i32) (param $panelEnd i32)
    (local $panel i32) (local $source i32) (local $column i32) (local $row i32) (local $target i32)
    (local $a0 i32) (local $a1 i32) (local $a2 i32) (local $a3 i32) (local $leftEnd i32)
    (local $sum00 v128) (local $sum01 v128) (local $sum10 v128) (local $sum11 v128)
    (local $sum20 v128) (local $sum21 v128) (local $sum30 v128) (local $sum31 v128)
    (local $b0 v128) (local $b1 v128) (local $factor v128)
    (local.set $leftEnd (i32.add (local.get $left) (local.get $leftSize)))
    (loop $columns
      (local.set $panel (i32.const 0))
      (local.set $source (i32.add (local.get $right) (local.get $column)))
      (loop $pack
        (v128.store align=1 (local.get $panel) (v128.load align=1 (local.get $source)))
        (v128.store offset=16 align=1 (local.get $panel) (v128.load offset=16 align=1 (local.get $source)))
        (local.set $source (i32.add (local.get $source) (local.get $width)))
        (local.set $panel (i32.add (local.get $panel) (i32.const 32)))
        (br_if $pack (i32.lt_u (local.get $panel) (local.get $panelEnd))))
      (local.set $row (local.get $left))
      (local.set $target (i32.add (local.get $result) (local.get $column)))
      (loop $rows
        (local.set $a0 (local.get $row))
        (local.set $sum00 (v128.const i64x2 0 0))
        (local.set $sum01 (v128.const i64x2 0 0))
        (local.set $a1 (i32.add (local.get $a0) (local.get $leftRow)))
        (local.set $sum10 (v128.const i64x2 0 0))
        (local.set $sum11 (v128.const i64x2 0 0))
        (local.set $a2 (i32.add (local.get $a1) (local.get $leftRow)))
        (local.set $sum20 (v128.const i64x2 0 0))
        (local.set $sum21 (v128.const i64x2 0 0))
        (local.set $a3 (i32.add (local.get $a2) (local.get $leftRow)))
        (local.set $sum30 (v128.const i64x2 0 0))
        (local.set $sum31 (v128.const i64x2 0 0))
        ;; the next four rows start one row below the fourth
        (local.set $row (i32.add (local.get $a3) (local.get $leftRow)))
        (local.set $panel (i32.const 0))
        (loop $depth
          (local.set $b0 (v128.load align=1 (local.get $panel)))
          (local.set $b1 (v128.load offset=16 align=1 (local.get $panel)))
          (local.set $factor (v128.load32_splat align=1 (local.get $a0)))
          (local.set $a0 (i32.add (local.get $a0) (local.get $leftColumn)))
          (local.set $sum00 (f32x4.add (local.get $sum00) (f32x4.mul (local.get $factor) (local.get $b0))))
          (local.set $sum01 (f32x4.add (local.get $sum01) (f32x4.mul (local.get $factor) (local.get $b1))))
          (local.set $factor (v128.load32_splat align=1 (local.get $a1)))
          (local.set $a1 (i32.add (local.get $a1) (local.get $leftColumn)))
          (local.set $sum10 (f32x4.add (local.get $sum10) (f32x4.mul (local.get $factor) (local.get $b0))))
          (local.set $sum11 (f32x4.add (local.get $sum11) (f32x4.mul (local.get $factor) (local.get $b1))))
          (local.set $factor (v128.load32_splat align=1 (local.get $a2)))
          (local.set $a2 (i32.add (local.get $a2) (local.get $leftColumn)))
          (local.set $sum20 (f32x4.add (local.get $sum20) (f32x4.mul (local.get $factor) (local.get $b0))))
          (local.set $sum21 (f32x4.add (local.get $sum21) (f32x4.mul (local.get $factor) (local.get $b1))))
          (local.set $factor (v128.load32_splat align=1 (local.get $a3)))
          (local.set $a3 (i32.add (local.get $a3) (local.get $leftColumn)))
          (local.set $sum30 (f32x4.add (local.get $sum30) (f32x4.mul (local.get $factor) (local.get $b0))))
          (local.set $sum31 (f32x4.add (local.get $sum31) (f32x4.mul (local.get $factor) (local.get $b1))))
          (local.set $panel (i32.add (local.get $panel) (i32.const 32)))
          (br_if $depth (i32.lt_u (local.get $panel) (local.get $panelEnd))))
        (v128.store align=1 (local.get $target) (local.get $sum00))
        (v128.store offset=16 align=1 (local.get $target) (local.get $sum01))
        (local.set $target (i32.add (local.get $target) (local.get $width)))
        (v128.store align=1 (local.get $target) (local.get $sum10))
        (v128.store offset=16 align=1 (local.get $target) (local.get $sum11))
        (local.set $target (i32.add (local.get $target) (local.get $width)))
        (v128.store align=1 (local.get $target) (local.get $sum20))
        (v128.store offset=16 align=1 (local.get $target) (local.get $sum21))
        (local.set $target (i32.add (local.get $target) (local.get $width)))
        (v128.store align=1 (local.get $target) (local.get $sum30))
        (v128.store offset=16 align=1 (local.get $target) (local.get $sum31))
        (local.set $target (i32.add (local.get $target) (local.get $width)))
        (br_if $rows (i32.lt_u (local.get $row) (local.get $leftEnd))))
      (local.set $column (i32.add (local.get $column) (i32.const 32)))
      (br_if $columns (i32.lt_u (local.get $column) (local.get $width)))))

  ;; values = chance < share ? 0 : scale · relu(values + bias); one row of values is as long as the bias
  (func (export "activate")
    (param $values i32) (param $end i32) (param $chance i32) (param $bias i32) (param $biasEnd i32)
    (param $share f32) (param $scale f32)
    (local $here i32) (local $shares v128) (local $scales v128)
    (local.set $shares (f32x4.splat (local.get $share)))
    (local.set $scales (f32x4.splat (local.get $scale)))
    (loop $rows
      (local.set $here (local.get $bias))
      (loop $columns
        (v128.store align=1 (local.get $values) (v128.and
          (f32x4.mul
            (f32x4.max
              (f32x4.add (v128.load align=1 (local.get $values)) (v128.load align=1 (local.get $here)))
              (v128.const i64x2 0 0))
            (local.get $scales))
          (f32x4.ge (v128.load align=1 (local.get $chance)) (local.get $shares))))
        (local.set $values (i32.add (local.get $values) (i32.const 16)))
        (local.set $chance (i32.add (local.get $chance) (i32.const 16)))
        (local.set $here (i32.add (local.get $here) (i32.const 16)))
        (br_if $columns (i32.lt_u (local.get $here) (local.get $biasEnd))))
      (br_if $rows (i32.lt_u (local.get $values) (local.get $end)))))

  ;; slopes = activations > 0 ? scale · slopes : 0
  (func (export "reluSlope")
    (param $slopes i32) (param $end i32) (param $activations i32) (param $scale f32)
    (local $scales v128)
    (local.set $scales (f32x4.splat (local.get $scale)))
    (loop $all
      (v128.store align=1 (local.get $slopes) (v128.and
        (f32x4.mul (v128.load align=1 (local.get $slopes)) (local.get $scales))
        (f32x4.gt (v128.load align=1 (local.get $activations)) (v128.const i64x2 0 0))))
      (local.set $slopes (i32.add (local.get $slopes) (i32.const 16)))
      (local.set $activations (i32.add (local.get $activations) (i32.const 16)))
      (br_if $all (i32.lt_u (local.get $slopes) (local.get $end)))))

  ;; one step of Adam; rest1 = 1 − beta1, rest2 = 1 − beta2
  (func (export "adam")
    (param $parameters i32) (param $gradient i32) (param $first i32) (param $second i32) (param $end i32)
    (param $decay f32) (param $beta1 f32) (param $rest1 f32) (param $beta2 f32) (param $rest2 f32)
    (param $stepSize f32) (param $correction f32) (param $epsilon f32)
    (local $slope v128) (local $moment v128)
    (local $decays v128) (local $beta1s v128) (local $rest1s v128) (local $beta2s v128) (local $rest2s v128)
    (local $stepSizes v128) (local $corrections v128) (local $epsilons v128)
    (local.set $decays (f32x4.splat (local.get $decay)))
    (local.set $beta1s (f32x4.splat (local.get $beta1)))
    (local.set $rest1s (f32x4.splat (local.get $rest1)))
    (local.set $beta2s (f32x4.splat (local.get $beta2)))
    (local.set $rest2s (f32x4.splat (local.get $rest2)))
    (local.set $stepSizes (f32x4.splat (local.get $stepSize)))
    (local.set $corrections (f32x4.splat (local.get $correction)))
    (local.set $epsilons (f32x4.splat (local.get $epsilon)))
    (loop $all
      (local.set $slope (f32x4.add
        (v128.load align=1 (local.get $gradient))
        (f32x4.mul (v128.load align=1 (local.get $parameters)) (local.get $decays))))
      (v128.store align=1 (local.get $first) (f32x4.add
        (f32x4.mul (v128.load align=1 (local.get $first)) (local.get $beta1s))
        (f32x4.mul (local.get $slope) (local.get $rest1s))))
      (local.set $moment (f32x4.add
        (f32x4.mul (v128.load align=1 (local.get $second)) (local.get $beta2s))
        (f32x4.mul (f32x4.mul (local.get $slope) (local.get $slope)) (local.get $rest2s))))
      (v128.store align=1 (local.get $second) (local.get $moment))
      (v128.store align=1 (local.get $parameters) (f32x4.sub
        (v128.load align=1 (local.get $parameters))
        (f32x4.div
          (f32x4.mul (v128.load align=1 (local.get $first)) (local.get $stepSizes))
          (f32x4.add
            (f32x4.div (f32x4.sqrt (local.get $moment)) (local.get $corrections))
            (local.get $epsilons)))))
      (local.set $parameters (i32.add (local.get $parameters) (i32.const 16)))
      (local.set $gradient (i32.add (local.get $gradient) (i32.const 16)))
      (local.set $first (i32.add (local.get $first) (i32.const 16)))
      (local.set $second (i32.add (local.get $second) (i32.const 16)))
      (br_if $all (i32.lt_u (local.get $parameters) (local.get $end))))))
