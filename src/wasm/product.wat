;; The product of a float32 matrix with a float64 vector, for the head: simd-multiply.ts.
(module
  (import "kernel" "memory" (memory 1))

  ;; Four rows of the matrix at a time. A result has two doubles: the sums over the even and over the odd columns.
  ;; All parameters are addresses or lengths in bytes.
  (func (export "product")
    (param $matrix i32) (param $matrixEnd i32) (param $rowBytes i32)
    (param $vector i32) (param $vectorEnd i32) (param $result i32)
    (local $row0 i32) (local $row1 i32) (local $row2 i32) (local $row3 i32) (local $place i32)
    (local $sum0 v128) (local $sum1 v128) (local $sum2 v128) (local $sum3 v128) (local $values v128)
    (loop $rows
      (local.set $row0 (local.get $matrix))
      (local.set $row1 (i32.add (local.get $row0) (local.get $rowBytes)))
      (local.set $row2 (i32.add (local.get $row1) (local.get $rowBytes)))
      (local.set $row3 (i32.add (local.get $row2) (local.get $rowBytes)))
      (local.set $sum0 (v128.const i64x2 0 0))
      (local.set $sum1 (v128.const i64x2 0 0))
      (local.set $sum2 (v128.const i64x2 0 0))
      (local.set $sum3 (v128.const i64x2 0 0))
      (local.set $place (local.get $vector))
      (loop $columns
        (local.set $values (v128.load align=1 (local.get $place)))
        (local.set $sum0 (f64x2.add
          (f64x2.mul (f64x2.promote_low_f32x4 (v128.load64_zero align=1 (local.get $row0))) (local.get $values))
          (local.get $sum0)))
        (local.set $row0 (i32.add (local.get $row0) (i32.const 8)))
        (local.set $sum1 (f64x2.add
          (f64x2.mul (f64x2.promote_low_f32x4 (v128.load64_zero align=1 (local.get $row1))) (local.get $values))
          (local.get $sum1)))
        (local.set $row1 (i32.add (local.get $row1) (i32.const 8)))
        (local.set $sum2 (f64x2.add
          (f64x2.mul (f64x2.promote_low_f32x4 (v128.load64_zero align=1 (local.get $row2))) (local.get $values))
          (local.get $sum2)))
        (local.set $row2 (i32.add (local.get $row2) (i32.const 8)))
        (local.set $sum3 (f64x2.add
          (f64x2.mul (f64x2.promote_low_f32x4 (v128.load64_zero align=1 (local.get $row3))) (local.get $values))
          (local.get $sum3)))
        (local.set $row3 (i32.add (local.get $row3) (i32.const 8)))
        (local.set $place (i32.add (local.get $place) (i32.const 16)))
        (br_if $columns (i32.lt_u (local.get $place) (local.get $vectorEnd))))
      (v128.store align=1 (local.get $result) (local.get $sum0))
      (v128.store offset=16 align=1 (local.get $result) (local.get $sum1))
      (v128.store offset=32 align=1 (local.get $result) (local.get $sum2))
      (v128.store offset=48 align=1 (local.get $result) (local.get $sum3))
      ;; the fourth row's pointer is at its end by now
      (local.set $matrix (local.get $row3))
      (local.set $result (i32.add (local.get $result) (i32.const 64)))
      (br_if $rows (i32.lt_u (local.get $matrix) (local.get $matrixEnd))))))
