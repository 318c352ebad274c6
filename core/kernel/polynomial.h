/* SPDX-License-Identifier: MIT
 *
 * polynomial.h: the numbers that exp and GELU are made of, one place for all tables. The
 * polynomials are minimax fits of our own; test_kernel.c holds them to the errors stated.
 *
 *  exp(x): 0 for x < EXP_LEAST (the true value is below 1.7e-38), exp(EXP_MOST) for x
 * above EXP_MOST, NaN for NaN. n = round(x / ln 2) by adding EXP_ROUND, r = x - n·ln 2 in
 * two fma, 2^n · (1 + r + r²(E0 + E1 r + .. + E4 r⁴)). Error at most 1 ulp.
 *
 *  GELU(x) = x/2 + x/2 · erf(x/√2). For x² < GELU_SQUARE erf(x/√2) = x · P(u), u = x² ·
 *  GELU_SCALE - 1, P = G0 + G1 u + .. + G14 u¹⁴ (error of erf at most 5e-7, of GELU
 * 1e-6); else GELU(x) = max(0, x).
 *
 *  GELU by tanh: x / (1 + exp(-2 √(2/π) (x + 0.044715 x³))). */
#ifndef KERNEL_POLYNOMIAL_H
#define KERNEL_POLYNOMIAL_H

#define EXP_LEAST (-87.0f)
#define EXP_MOST 88.0f
#define EXP_LOG2E 1.44269504f
#define EXP_ROUND 12582912.0f /* 1.5 · 2^23: the sum's low bits are the rounded integer \
                               */
#define EXP_LN2_HIGH 0.693147182f
#define EXP_LN2_LOW (-1.90465421e-9f) /* ln 2 - EXP_LN2_HIGH */

#define EXP_E0 0.49999994f
#define EXP_E1 0.166665211f
#define EXP_E2 0.041668389f
#define EXP_E3 0.00836871099f
#define EXP_E4 0.00138146104f

#define GELU_SQUARE 26.25f
#define GELU_SCALE 0.0761904791f /* 2 / GELU_SQUARE */
#define GELU_TERMS 15
#define GELU_COEFFICIENTS                                                        \
    {                                                                            \
        0.275945812f, -0.137409493f, 0.101207897f, -0.0802939758f, 0.063630417f, \
            -0.0485784672f, 0.0349418148f, -0.0234127324f, 0.0148610631f,        \
            -0.00897924416f, 0.0045484216f, -0.00181381323f, 0.00111670839f,     \
            -0.000864490226f, 0.000280052656f                                    \
    }

#define TANH_LINEAR (-1.59576912f)  /* -2 √(2/π) */
#define TANH_CUBIC (-0.0713548163f) /* 0.044715 · TANH_LINEAR */

#define QUANTIZE_LEAST 7.52316385e-37f /* 2^-120: a smaller scale counts as 1 */

#endif
